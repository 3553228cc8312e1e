/** Steps in words, with what became of each. */
import type { Answer, Shape } from "../../api";
import { stateText, type Mark } from "../../text";
import { number } from "../../text/units";
import type { Step } from "../../ui";

export type Procedure = Answer<"get_procedure">;
export type Conduct = Answer<"get_conduct">;
export type RecipeStep = NonNullable<Procedure["steps"]>[number];
export type Activity = Shape<"Activity">;

/** Return a value of a step: a literal, or where the value comes from. */
export function valueText(value: unknown): string {
  if (typeof value === "number") return number(value);
  if (typeof value === "string") return value;
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    const [key, source] = Object.entries(value)[0] ?? [];
    if (key?.startsWith("$")) return `${key.slice(1)} ${String(source)}`;
  }
  return JSON.stringify(value);
}

const argumentsText = (values: Record<string, unknown>) =>
  Object.entries(values)
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${valueText(value)}`)
    .join(", ");

const withArguments = (name: string, values: Record<string, unknown>) => (Object.keys(values).length > 0 ? `${stateText(name)}: ${argumentsText(values)}` : stateText(name));

/** Return what a step does. */
export function stepText(step: RecipeStep): string {
  switch (step.kind) {
    case "setpoint":
      return `Set to ${valueText(step.value)}`;
    case "action":
      return withArguments(step.name, step.params);
    case "check": {
      const { criterion } = step;
      const what = criterion.kind === "equals" ? `Equals ${valueText(criterion.expected)}` : `Within ${number(criterion.tolerance)} of ${valueText(criterion.expected)}`;
      return step.wait > 0 ? `${what}, waits up to ${number(step.wait)} s` : what;
    }
    case "capture":
      return `Keep as ${step.capture_name}`;
    case "compute":
      return withArguments(step.job, step.parameters);
  }
}

/** Return the address of the control system, or the registered name. */
export function addressOf(step: RecipeStep): string {
  if (step.kind === "action") return step.name;
  return step.kind === "compute" ? step.job : step.address;
}

/** Return the question about a step whose outcome is not known. */
export function questionOf(step: RecipeStep): string {
  switch (step.kind) {
    case "setpoint":
      return `Was ${step.address} set to ${valueText(step.value)}?`;
    case "action":
      return `Was «${stateText(step.name)}» carried out?`;
    case "compute":
      return `Did the job «${stateText(step.job)}» finish?`;
    default:
      return "Was the step carried out?";
  }
}

const MARKS: Record<Activity["stage"], Mark> = {
  Started: "progress",
  Submitted: "progress",
  Reading: "progress",
  Writing: "progress",
  Written: "progress",
  Succeeded: "normal",
  Failed: "blocks",
  Skipped: "denied",
};

/** Return the last activity of each step of a phase. */
export function lastOf(activities: readonly Activity[], phase: "Steps" | "Closing"): Map<number, Activity> {
  const last = new Map<number, Activity>();
  for (const activity of activities)
    if (activity.phase === phase && activity.step_index !== null && (last.get(activity.step_index)?.sequence ?? -1) < activity.sequence) last.set(activity.step_index, activity);
  return last;
}

/** Return the iteration whose steps are shown: the open one, or the last; undefined when nothing is repeated. */
export function iterationShown({ iteration_count: count, current_iteration_index: current }: Pick<Procedure, "iteration_count" | "current_iteration_index">): number | undefined {
  // The service counts iterations from 1.
  return current ?? (count > 0 ? count : undefined);
}

export interface Progress {
  last: ReadonlyMap<number, Activity>;
  /** The steps that the service asks about. */
  undecided: readonly number[];
  /** Whether a worker has the conduct. */
  isActive: boolean;
  time: (moment: string) => string;
}

/** Return the rows of a list of steps. */
export function rowsOf(steps: readonly RecipeStep[], { last, undecided, isActive, time }: Progress): Step[] {
  return steps.map((step, index) => {
    const activity = last.get(index);
    const isAsked = undecided.includes(index);
    const isOpen = activity !== undefined && MARKS[activity.stage] === "progress";
    const isInDoubt = isOpen && (isAsked || !isActive);
    const message = activity?.detail.message;
    return {
      index,
      kind: step.kind,
      text: stepText(step),
      address: addressOf(step),
      mark: isInDoubt ? "unknown" : activity ? MARKS[activity.stage] : "pending",
      outcome: isInDoubt ? "In doubt" : activity ? stateText(activity.stage) : "",
      attempt: activity?.attempt ?? undefined,
      at: activity ? time(activity.sampled_at) : undefined,
      isCurrent: isOpen && isActive,
      ...(isInDoubt && { note: `Sent ${time(activity.sampled_at)}. No outcome recorded.` }),
      ...(!isInDoubt && typeof message === "string" && { note: message }),
    };
  });
}
