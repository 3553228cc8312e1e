/** What a check of the service found: objects with their states. */
import type { Fact } from "../api/problems";
import { markOfKind, stateText, TONES, type Mark } from "./states";

/** Return the word of a state that the service explains further: `Unknown (stale: …), Active` is `Unknown`. */
export function stateWord(state: string): string {
  return /^\w+/.exec(state)?.[0] ?? state;
}

/** Return the shape of a fact of a check. */
export function markOfFact(fact: Fact): Mark {
  if (fact.in_force === false) return "blocks";
  return markOfKind(fact.kind, stateWord(fact.state));
}

/** Return the facts that are abnormal; all of them when none looks so. */
export function abnormalFacts(facts: readonly Fact[]): Fact[] {
  const abnormal = facts.filter((fact) => TONES[markOfFact(fact)] !== "");
  return abnormal.length > 0 ? abnormal : [...facts];
}

/** Return a state with what the service explains of it: «Unknown (stale: last report 3 days ago)». */
function explained(state: string): string {
  const rest = state.slice(stateWord(state).length);
  return `${stateText(stateWord(state))}${rest.startsWith(" (") ? rest.replace(/\).*$/, ")") : ""}`;
}

/** «Ring beam is Unavailable» */
export function factText(fact: Fact): string {
  return `${fact.name} is ${explained(fact.state)}`;
}

/** Return the state of a fact in words; that of two axes is named by the first. */
export function factState({ state }: Fact): string {
  return /^\w+( \(|,)/.test(state) ? explained(state) : stateText(state);
}
