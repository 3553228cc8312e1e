/** Which reads an event makes outdated: one table. */
import type { EventName, QueryName, RowTable, StreamType } from "../api/names";
import routes from "../api/routes.json";

const BOARD: QueryName[] = ["get_board", "get_plan_readiness", "get_status"];
/** What the handover of a shift tells, beside the board. */
const SHIFT: QueryName[] = [...BOARD, "get_shift_handover"];
const CUSTODY: QueryName[] = ["list_custody", "get_custody_summary", "get_provenance", "get_dataset_lineage"];
const AGENTS: QueryName[] = ["get_board", "get_shift_handover", "list_proposals", "get_agent", "list_at_risk_results"];

/** What an event of a stream makes outdated, beside the object, its history and its list. */
export const ALSO: Record<StreamType, readonly QueryName[]> = {
  Acquisition: CUSTODY,
  Actor: ["get_self"],
  Agent: ["get_self", "list_agent_costs"],
  Asset: [...SHIFT, "get_asset_tree"],
  Attestation: [...CUSTODY, "list_distributions", "get_distribution"],
  Calibration: ["get_provenance", "list_calibration_uses", "get_calibration_revision"],
  Campaign: [],
  Capability: [],
  Caution: [...SHIFT, "list_decisions", "get_decision"],
  Clearance: SHIFT,
  Conduit: [],
  Credential: ["get_permit", "get_seal"],
  Dataset: [...CUSTODY, "list_dataset_parts", "list_distributions"],
  Decision: [...AGENTS, "list_decision_evidence", "list_run_logbook_entries"],
  Distribution: [...CUSTODY, "list_distribution_checks"],
  Edition: [...CUSTODY, "get_edition_manifest"],
  Enclosure: SHIFT,
  Facility: ["get_self", "get_permit"],
  Family: BOARD,
  Frame: [],
  Method: BOARD,
  Model: [],
  Mount: [...BOARD, "get_asset_tree"],
  Permit: [],
  Plan: BOARD,
  Policy: ["get_self", "evaluate_authorization"],
  Practice: BOARD,
  Procedure: ["get_board", "get_status", "get_shift_handover", "get_conduct", "list_conducts", "list_procedure_iterations", "list_procedure_activities"],
  Proposal: AGENTS,
  Recipe: ["get_recipe_version", "list_recipe_versions"],
  Run: ["get_board", "get_status", "list_campaigns", "get_shift_handover"],
  Seal: [],
  Subject: BOARD,
  Subscription: ["list_deliveries"],
  Supply: SHIFT,
  Surface: ["get_board", "list_surfaces"],
  Visit: ["get_board", "get_shift_handover", "get_surface", "list_surfaces"],
  Zone: [],
};

/** What some events make outdated in addition. */
export const AFTER: Partial<Record<EventName, readonly QueryName[]>> = {
  RunCompleted: ["list_decisions", "list_datasets", "list_custody"],
  RunStopped: ["list_decisions", "list_datasets", "list_custody"],
  RunAborted: ["list_decisions", "list_datasets", "list_custody"],
  RunTruncated: ["list_decisions", "list_datasets", "list_custody"],
  ProposalApproved: ["list_decisions"],
};

/**
 * What rows beside an object make outdated. Observations leave the board out: it is the most expensive read, and
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

/** `get_run`, `get_run_history` and `list_runs` of runs: no other read of runs has these paths. */
const OWN = new Map<StreamType, Set<string>>();
for (const { path, aggregate } of Object.values(routes)) {
  if (!path.endsWith("/history")) continue;
  const one = path.replace(/\/history$/, "");
  const paths = [path, one, one.replace(/\/\{\w+\}$/, "")];
  const reads = Object.entries(routes).filter(([, route]) => route.method === "GET" && paths.includes(route.path));
  OWN.set(aggregate, new Set(reads.map(([name]) => name)));
}

/** Return the reads that an event of a stream makes outdated. */
export function affectedBy(stream: StreamType, event?: string): Set<string> {
  const after = event ? (AFTER[event as EventName] ?? []) : [];
  return new Set([...(OWN.get(stream) ?? []), ...(ALSO[stream] ?? []), ...after]);
}

/** Return the reads that a command of an aggregate makes outdated, also where it adds rows and writes no event. */
export function affectedByCommand(stream: StreamType): Set<string> {
  const ofRows = Object.values(ROWS).flat().filter((read) => routes[read].aggregate === stream);
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
