/** Which reads an event makes outdated, from what each read declares that it is composed of. */
import type { QueryName, RowTable, StreamType } from "./names";
import { routes } from "./routes";
import type { Route } from "./routes.json";

/** The reads that an event of a stream makes outdated: those of its aggregate, and those composed of it. */
const READS = new Map<string, Set<string>>();
/** `get_run`, `get_run_history` and `list_runs` of runs: no other read of runs has these paths. */
const OWN = new Map<string, Set<string>>();

/** Learn what makes the reads among some operations outdated. */
export function learnReads(operations: Record<string, Route>): void {
  const reads = Object.entries(operations).filter(([, { method }]) => method === "GET");
  for (const [name, { path, aggregate, composed_of = [] }] of reads) {
    for (const stream of [aggregate, ...composed_of]) READS.set(stream, (READS.get(stream) ?? new Set()).add(name));
    if (!path.endsWith("/history")) continue;
    const one = path.replace(/\/history$/, "");
    const paths = [path, one, one.replace(/\/\{\w+\}$/, "")];
    OWN.set(aggregate, new Set(reads.filter(([, route]) => paths.includes(route.path)).map(([other]) => other)));
  }
}
learnReads(routes);

/**
 * What rows added to an object make outdated. Observations leave the board out: it is the most expensive read, and
 * the progress of a run is the last value of a channel, which the summary has.
 */
export const ROWS: Record<RowTable, readonly QueryName[]> = {
  authorization_denials: ["list_conduit_denials"],
  dataset_part: ["list_dataset_parts"],
  decision_inference: ["list_decision_inferences", "list_agent_costs"],
  decision_logbook_entry: ["list_decision_logbook_entries"],
  delivery: ["list_deliveries"],
  distribution_check: ["list_distribution_checks"],
  federation_exchanges: ["list_permit_exchanges"],
  procedure_activity: ["list_procedure_activities", "get_conduct", "list_conducts"],
  procedure_iteration: ["list_procedure_iterations"],
  run_logbook_entry: ["list_run_logbook_entries", "get_shift_handover"],
  run_observation: ["list_run_observations", "get_run_observation_summary", "get_run_series"],
};

/** Return the reads that an event of a stream makes outdated. */
export function affectedBy(stream: StreamType): Set<string> {
  return new Set(READS.get(stream));
}

/** Return the reads that a command of an aggregate makes outdated, also where it adds rows and writes no event. */
export function affectedByCommand(stream: StreamType): Set<string> {
  const ofRows = Object.values(ROWS)
    .flat()
    .filter((read) => routes[read].aggregate === stream);
  return new Set([...affectedBy(stream), ...ofRows]);
}

/** Return whether a read of one object is about another object than the one that changed. */
export function isAboutOther(operation: string, parameters: unknown, stream: StreamType, id: string): boolean {
  const route = (routes as Record<string, { path: string; aggregate: StreamType } | undefined>)[operation];
  if (route?.aggregate !== stream || !OWN.get(stream)?.has(operation)) return false;
  const field = /\{(\w+)\}/.exec(route.path)?.[1];
  return field !== undefined && (parameters as Record<string, unknown> | undefined)?.[field] !== id;
}

/** Return whether a list of events gets longer by an event of an object. */
export function isListed(parameters: Record<string, unknown> | undefined, stream: StreamType, id: string): boolean {
  const { stream_type, stream_id, until } = parameters ?? {};
  return until === undefined && isAmong(stream_type, stream) && isAmong(stream_id, id);
}

function isAmong(wanted: unknown, each: string): boolean {
  return wanted === undefined || [wanted].flat().includes(each);
}
