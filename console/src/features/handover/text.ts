/** The handover as plain text, for a message. */
import type { Answer, Shape } from "../../api";
import { eventText, operationTitle, reasonText, stateText, type Mark } from "../../text";

export type Shift = Answer<"get_shift_handover">;
export type Line = Shape<"HandoverLine">;

export const TOPICS: readonly (readonly [string, readonly (keyof Shift)[]])[] = [
  ["Runs and holds", ["runs", "holds", "adjustments", "refused"]],
  ["Procedures", ["procedures"]],
  ["Equipment", ["equipment"]],
  ["Supplies and hutches", ["supplies", "permits"]],
  ["Cautions and clearances", ["cautions", "clearances"]],
  ["Visits", ["visits"]],
  ["Data", ["data"]],
  ["Decisions", ["decisions"]],
  ["Logbook", ["notes"]],
];
/** Lines that are no events: a refused start, and a validity that has ended. */
export const MARKS: Partial<Record<string, Mark>> = { refused: "denied", lapsed: "caution" };

/** Return the lines of some lists of a shift in order. */
export const linesOf = (shift: Shift, lists: readonly (keyof Shift)[]): Line[] =>
  lists.flatMap((list) => (shift[list] ?? []) as Line[]).sort((a, b) => Date.parse(a.at) - Date.parse(b.at));

export const isAbnormal = (line: Line) => MARKS[line.what] !== undefined || eventText(line.what, { status: line.state }).isAbnormal;

/** Return the name of an object; a proposal has the name of its command. */
export function nameOf({ kind, name }: Line): string {
  const words = kind === "Proposal" ? operationTitle(name) : name;
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Return a reason in words; a refused start has only the class of the refusal. */
export function whyOf(why: string): string {
  return /^[A-Z]\w+Error$/.test(why) ? stateText(why.replace(/^Run|Error$/g, "")) : reasonText(why);
}

/** What the shift wrote: the notes that were handed over, and one that is not yet. */
export interface Notes {
  handedOver: readonly { at: string; by: string; text: string }[];
  draft: string;
}

/** Return the handover as text: its notes first, then what is open and what was abnormal. */
export function asText(shift: Shift, { handedOver, draft }: Notes, period: string, stamp: (at: string) => string): string {
  const line = (each: Line) => `${stamp(each.at)}  ${nameOf(each)}: ${each.state ? stateText(each.state) : eventText(each.what).text}${each.why ? ` (${whyOf(each.why)})` : ""}`;
  const parts = [[`Handover ${period}`]];
  for (const { at, by, text } of handedOver) parts.push([`Note, handed over ${stamp(at)} by ${by}`, text]);
  if (draft.trim()) parts.push(["Note, not handed over yet", draft.trim()]);
  parts.push(["Still open", ...[...shift.expiring, ...(shift.open ?? [])].map(line)]);
  for (const [title, lists] of TOPICS) {
    const abnormal = linesOf(shift, lists).filter(isAbnormal);
    if (abnormal.length > 0) parts.push([title, ...abnormal.map(line)]);
  }
  return parts.map((lines) => lines.join("\n")).join("\n\n");
}
