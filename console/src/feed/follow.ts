/** The feed as server-sent events, read with `fetch`, because `EventSource` sends no token. */
import { createParser } from "eventsource-parser";
import type { FeedEvent } from "../api/types";

/** Rows that were added to an object. */
export interface RowNotice {
  table: string;
  stream_type: string;
  stream_id: string;
  count: number;
  last_at: string;
}
export interface Beat {
  now: string;
  head: string;
}
export type FeedMessage = { kind: "event"; event: FeedEvent } | { kind: "rows"; rows: RowNotice } | { kind: "beat"; beat: Beat } | { kind: "end"; reason: string };

export interface Following {
  headers: Headers;
  /** The cursor to continue after; without one, the stream begins now. */
  after: string | undefined;
  signal: AbortSignal;
  heard: (message: FeedMessage, cursor: string | undefined) => void;
}

/** The stream was refused; retrying does not help when the status is 401 or 403. */
export class FeedRefused extends Error {
  constructor(readonly status: number) {
    super(`The feed answered ${status}.`);
  }
}

/** Follow the feed until it ends. Throw when it is refused or when no byte comes for 25 s. */
export async function follow({ headers, after, signal, heard }: Following): Promise<void> {
  headers.set("Accept", "text/event-stream");
  if (after) headers.set("Last-Event-ID", after);
  const silent = new AbortController();
  const stop = () => silent.abort();
  signal.addEventListener("abort", stop);
  let timer = setTimeout(stop, SILENCE_MS);
  try {
    const response = await fetch("/events", { headers, signal: silent.signal, cache: "no-store" });
    if (!response.ok || !response.body) throw new FeedRefused(response.status);
    const parser = createParser({
      onEvent: ({ event, data, id }) => {
        const message = messageOf(event ?? "message", data);
        if (message) heard(message, id);
      },
    });
    const reader = response.body.getReader();
    const text = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE_MS);
      parser.feed(text.decode(value, { stream: true }));
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    silent.abort();
  }
}

/** Two beats and 5 s. */
export const SILENCE_MS = 25_000;

function messageOf(event: string, data: string): FeedMessage | undefined {
  switch (event) {
    case "event":
      return { kind: "event", event: JSON.parse(data) as FeedEvent };
    case "rows":
      return { kind: "rows", rows: JSON.parse(data) as RowNotice };
    case "beat":
      return { kind: "beat", beat: JSON.parse(data) as Beat };
    case "end":
      return { kind: "end", reason: (JSON.parse(data) as { reason: string }).reason };
    default:
      return undefined;
  }
}
