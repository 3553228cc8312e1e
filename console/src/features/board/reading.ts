/** What a board says, in words: pure functions of the answers of the service. */
import type { Answer, Names, Shape } from "../../api";
import type { FeedStatus } from "../../feed";
import { abnormalFacts, factText, markOf, markOfFact, markOfKind, plural, quantity, stateText, TONES, type Mark } from "../../text";

export type BoardAnswer = Answer<"get_board">;
export type Readiness = Answer<"get_plan_readiness">;
export type Check = Shape<"ReadinessCheck">;

/** Return whether a check fails only because nobody knows the state of something. */
export function isUnknown(check: Check): boolean {
  const facts = abnormalFacts(check.facts);
  return !check.passed && facts.length > 0 && facts.every((fact) => markOfFact(fact) === "unknown");
}

const CHECKS: Record<string, string> = {
  parameters: "The parameters are not valid",
  units: "The units of the parameters have changed",
  window: "The window of the plan is not open",
  families: "The assets lack a family that the plan needs",
  clearance: "No clearance covers this run",
  supply: "No supply of a kind that the plan needs",
  enclosure: "No enclosure permits the run",
};

/** Return why a check fails, in one sentence without a full stop. */
export function failureText(check: Check): string {
  const [fact] = abnormalFacts(check.facts);
  const isAbnormal = fact !== undefined && TONES[markOfFact(fact)] !== "";
  if (isAbnormal) return factText(fact);
  return CHECKS[check.check] ?? (fact ? factText(fact) : `${stateText(check.check)} fails`);
}

export interface Verdict {
  word: string;
  sentence: string;
  mark: Mark;
}

/** An asset that does not work. */
export interface Fault {
  id: string;
  name: string;
}

/** Return the assets of the beamline and of the plan that are faulted, each once. */
export function faultsOf(assets: BoardAnswer["assets"], readiness: Readiness | undefined): Fault[] {
  const reported = [
    ...(assets ?? []).map(({ id, name, condition }) => ({ id, name, condition })),
    ...(readiness?.advisories ?? []).filter(({ kind }) => kind === "Asset").map(({ id, name, state }) => ({ id, name, condition: state })),
  ];
  const faulted = reported.filter(({ condition }) => markOf(condition, "AssetCondition") === "blocks");
  return [...new Map(faulted.map(({ id, name }) => [id, { id, name }])).values()];
}

/** Return the faults among the assets of the plan, and the others of the beamline. */
export function faultsByPlan(faults: readonly Fault[], readiness: Pick<Readiness, "checks">): { ofPlan: Fault[]; others: Fault[] } {
  const used = new Set(readiness.checks.find(({ check }) => check === "assets")?.facts.map(({ id }) => id));
  return { ofPlan: faults.filter(({ id }) => used.has(id)), others: faults.filter(({ id }) => !used.has(id)) };
}

/** «Camera is Faulted», «Camera and 2 more are Faulted» */
export function faultText(faults: readonly Fault[]): string {
  const [first, ...rest] = faults;
  if (!first) return "";
  return rest.length === 0 ? `${first.name} is Faulted` : `${first.name} and ${rest.length} more are Faulted`;
}

/** Return whether a run can start, and if not, the first reason; a faulted asset is named with it. */
export function verdictOn(readiness: Readiness | undefined, { runs, assets }: Pick<BoardAnswer, "runs" | "assets">): Verdict {
  if (!readiness) return { word: "No plan", sentence: "Select a plan to see whether a run can start.", mark: "pending" };
  const { checks } = readiness;
  const failing = checks.filter(({ passed }) => !passed);
  const [first] = failing;
  if (readiness.ready || !first) {
    const [run] = runs ?? [];
    const faults = faultsOf(assets, readiness);
    const sentences = [`All ${checks.length} checks pass.`];
    if (faults.length > 0) sentences.push(`${faultText(faults)}.`);
    if (run) sentences.push(`${run.name} is ${stateText(run.status).toLowerCase()}.`);
    const sentence = sentences.join(" ");
    return faults.length > 0 ? { word: `Ready, ${plural(faults.length, "fault")}`, sentence, mark: "caution" } : { word: "Ready", sentence, mark: "normal" };
  }
  const counted = `${failing.length} of ${checks.length} checks ${failing.length === 1 ? "fails" : "fail"}.`;
  const mark = failing.every(isUnknown) ? "unknown" : "blocks";
  return { word: "Not ready", sentence: `${failureText(first)}. ${counted}`, mark };
}

/** Why the console does not hear what happens, by the state of the feed. */
const UNHEARD: Partial<Record<FeedStatus["state"], string>> = {
  lost: "The connection to the service is lost.",
  refused: "You may not follow the events of this beamline.",
};

/** Return a verdict as far as it is known: one that no event keeps current is unknown. */
export function verdictWhile(state: FeedStatus["state"], verdict: Verdict): Verdict {
  const why = UNHEARD[state];
  if (why === undefined) return verdict;
  const last = verdict.mark === "pending" ? [] : [`The last verdict was «${verdict.word}».`];
  return { word: "Unknown", sentence: [why, ...last].join(" "), mark: "unknown" };
}

/** Return the name after the newest run: «Run 15» after «Run 14». */
export function nextName(newest: string | undefined): string {
  const [, head, digits] = /^(.*?)(\d+)$/.exec(newest ?? "") ?? [];
  if (digits === undefined) return "Run 1";
  return `${head}${String(Number(digits) + 1).padStart(digits.length, "0")}`;
}

interface Declared {
  properties?: Record<string, { unit?: { code?: string } | null } | undefined>;
}

/** `25 keV · 0.1 s · 1,501 projections` */
export function parametersText(values: Record<string, unknown>, schema: Declared | null | undefined): string {
  const parts = Object.entries(values).flatMap(([name, value]) => {
    const unit = schema?.properties?.[name]?.unit?.code;
    if (typeof value === "string" || typeof value === "boolean") return [`${name.replaceAll("_", " ")} ${value}`];
    if (typeof value !== "number") return [];
    const [shown, named] = [quantity(value, unit), name.replaceAll("_", " ")];
    // Before the method is read, the unit is not known.
    return [unit === undefined ? `${named} ${shown}` : unit === "1" ? `${shown} ${named}` : shown];
  });
  return parts.length > 0 ? parts.join(" · ") : "none";
}

/** Return how a visit is known: by its proposal, by another number, or by its type. */
export function visitText(visit: { type: string; external_refs: Record<string, string> }): string {
  return visit.external_refs.proposal ?? Object.values(visit.external_refs)[0] ?? `${stateText(visit.type)} visit`;
}

/** Return whether the state of an object has a colour that is not that of work in progress. */
function isAbnormal(kind: string, state: string): boolean {
  const tone = TONES[markOfKind(kind, state)];
  return tone !== "" && tone !== "act";
}

/** Return the ids of what is abnormal on the board now. */
export function abnormalIds(board: BoardAnswer): Set<string> {
  return new Set([
    ...(board.supplies ?? []).filter((each) => each.stale || isAbnormal("Supply", each.status)).map(({ id }) => id),
    ...(board.enclosures ?? []).filter((each) => each.stale || isAbnormal("Enclosure", each.permit_status)).map(({ id }) => id),
    ...(board.assets ?? []).map(({ id }) => id),
    ...(board.runs ?? []).filter(({ status }) => isAbnormal("Run", status)).map(({ id }) => id),
    ...(board.procedures ?? []).filter(({ status }) => isAbnormal("Procedure", status)).map(({ id }) => id),
    ...(board.cautions ?? []).map(({ id }) => id),
  ]);
}

/** «step 3 of 4», «2 steps in doubt» */
export function stepText(procedure: NonNullable<BoardAnswer["procedures"]>[number]): string {
  const { step_index: index, step_count: count, undecided_step_indexes: undecided } = procedure;
  if (undecided.length > 0) return `${plural(undecided.length, "step")} in doubt`;
  if (index === null || count === null) return "";
  return `step ${index + 1} of ${count}`;
}

/** Return the name of an object, or what is said when the caller may not see it. */
export function nameOf(names: Names, id: string | null | undefined, kind: string): string {
  return (id && names[id]?.name) || `${kind} (no access)`;
}
