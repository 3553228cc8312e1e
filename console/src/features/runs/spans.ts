/** The states of an object over time: the state at the beginning, and what each event made of it. */
import { routes, type FeedEvent, type RecordedEvent } from "../../api";
import { markOf, type StateSchema } from "../../text/states";
import type { Span } from "../../ui";

/** The state that each event leads to, as the service declares it. */
const STATE_AFTER = new Map(Object.values(routes).flatMap(({ moves = [] }) => moves.map(({ axis, event, to }) => [`${axis} ${event}`, to] as const)));

/** An event of a history or of the feed. */
export interface Happened {
  type: string;
  at: number;
  data: Record<string, unknown>;
}

export const happened = ({ event_type, occurred_at, payload }: RecordedEvent): Happened => ({ type: event_type, at: Date.parse(occurred_at), data: payload });

export const happenedIn = ({ type, time, data }: FeedEvent): Happened => ({ type: type.replace(/^beamkeep\./, ""), at: Date.parse(time), data });

/** Return the state after an event, or undefined when the event changes none. */
export function stateAfter({ type, data }: Pick<Happened, "type" | "data">, axis: string): string | undefined {
  // An event that may lead to several states contains the one it led to.
  const state = data[`to_${axis}`];
  return typeof state === "string" ? state : STATE_AFTER.get(`${axis} ${type}`);
}

interface Beginning {
  at: number;
  /** Undefined when the object did not exist yet. */
  state: string | undefined;
}

/** Return the spans up to a moment in order; the last one lasts. */
export function spansOf(first: Beginning, events: readonly Happened[], { axis, schema, until }: { axis: string; schema: StateSchema; until: number }): Span[] {
  const spans: Span[] = [];
  const add = (state: string | undefined, from: number) => {
    const last = spans.at(-1);
    if (state === undefined || from > until || last?.state === state) return;
    if (last) last.to = from;
    spans.push({ from, to: undefined, state, mark: markOf(state, schema) });
  };
  add(first.state, first.at);
  for (const event of events) if (event.at > first.at) add(stateAfter(event, axis), event.at);
  return spans;
}

/** Return how long something was held in all, up to a moment. */
export function heldFor(spans: readonly Span[], until: number): number {
  return spans.filter(({ mark }) => mark === "held").reduce((sum, { from, to }) => sum + Math.max(0, (to ?? until) - from), 0);
}

/** Return the span at a moment. */
export function spanAt(spans: readonly Span[], moment: number): Span | undefined {
  return spans.find(({ from, to }) => from <= moment && moment < (to ?? Infinity));
}

/** Return the index of the last time that is not after a moment, or -1. */
export function indexAt(times: readonly number[], moment: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? Infinity) <= moment) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
