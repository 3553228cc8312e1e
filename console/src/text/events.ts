/** What an event says, after the name of its object: «Run 1 held». The service declares the words. */
import type { EventName } from "../api/names";
import said from "../api/said.json";
import { STATES, TONES, type Mark } from "./states";
import { reasonText } from "./steps";

export interface EventText {
  text: string;
  mark: Mark;
  /** Whether the event is shown among the abnormal ones. */
  isAbnormal: boolean;
}

const event = (text: string, mark: Mark): EventText => ({ text, mark, isAbnormal: ["alarm", "warn", "unk"].includes(TONES[mark]) });

/** Events whose shape is not that of the state which they lead to. */
const MARKS: Partial<Record<EventName, Mark>> = {
  ActorDeactivated: "denied",
  CampaignAbandoned: "caution",
  CautionRegistered: "caution",
  ClearanceRejected: "blocks",
  DatasetDemoted: "caution",
  EditionWithdrawn: "caution",
  ProcedureConductWalked: "progress",
  ProposalRegistered: "pending",
};

/** The shape of an event that leads to no state, by the last word of its name. */
const LAST_WORDS: Record<string, Mark> = {
  Ended: "done",
  Refused: "blocks",
  Requested: "pending",
  Revoked: "denied",
  Started: "progress",
  Unreachable: "unknown",
};

function markOfEvent(name: EventName): Mark {
  const { schema = "", state = "" } = said[name];
  const states = (STATES as Partial<Record<string, Partial<Record<string, Mark>>>>)[schema];
  return MARKS[name] ?? states?.[state] ?? LAST_WORDS[/[A-Z][a-z]+$/.exec(name)?.[0] ?? ""] ?? "normal";
}

/** What the permit of an enclosure was reported to be, which the event itself does not say. */
const PERMITS: Record<string, EventText> = {
  Permitted: event("permitted", "normal"),
  NotPermitted: event("not permitted", "blocks"),
  Unknown: event("permit unknown", "unknown"),
};

/** Return the words of an event; an event that the table lacks keeps its own name. */
export function eventText(type: string, data: Record<string, unknown> = {}): EventText {
  const name = type.replace(/^beamkeep\./, "");
  const reported = name === "EnclosurePermitObserved" ? (data.status ?? data.permit_status) : undefined;
  if (typeof reported === "string" && PERMITS[reported]) return PERMITS[reported];
  const known = (said as Partial<typeof said>)[name as EventName];
  return known ? event(known.text, markOfEvent(name as EventName)) : event(name.replace(/(?<!^)(?=[A-Z])/g, " ").toLowerCase(), "normal");
}

/** Return the reason that an event gives, if it gives one. */
export function reasonIn(data: Record<string, unknown>): string | undefined {
  return typeof data.reason === "string" ? reasonText(data.reason) : undefined;
}
