/** Steps as people count them: the service counts them from 0, every page from 1. */

/** The fields whose whole numbers are places in a list of steps. */
const PLACES = new Set(["from_step_index", "redo_step_indexes", "skip_step_indexes", "undecided_step_indexes", "step_index"]);

/** The refusals whose sentences name steps, and no other number. */
const ABOUT_STEPS = new Set(["InvalidConductFromError"]);

/** What the reason of a procedure begins with when a step caused it: `check[2] bl:x: …`. */
const CAUSED = /^(setpoint|action|check|capture|compute)\[(\d+)\]/;

/** Return the number of a step on its page. */
export function stepNumber(index: number): number {
  return index + 1;
}

/** Return the place that a number of a step means to the service. */
export function stepIndex(number: number): number {
  return number - 1;
}

/** Return whether a field holds places of steps, so that people read and type the numbers of the page. */
export function holdsSteps(field: string): boolean {
  return PLACES.has(field);
}

/** Return a value of a field with steps as their numbers. */
export function withStepNumbers(field: string, value: unknown): unknown {
  if (!holdsSteps(field)) return value;
  const shown = (each: unknown) => (typeof each === "number" ? stepNumber(each) : each);
  return Array.isArray(value) ? (value as unknown[]).map(shown) : shown(value);
}

/** Return the sentence of a refusal with the numbers of the page. */
export function refusalText(code: string, sentence: string): string {
  if (!ABOUT_STEPS.has(code)) return sentence;
  return sentence.replaceAll("from_step_index", "«From step»").replace(/\d+/g, (index) => String(stepNumber(Number(index))));
}

/** Return a reason that names the step that caused it by the number of the page. */
export function reasonText(reason: string): string {
  return reason.replace(CAUSED, (_, kind: string, index: string) => `Step ${stepNumber(Number(index))}, ${kind}`);
}
