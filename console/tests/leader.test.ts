// @vitest-environment node
/** Two tabs have one connection, and the second takes over when the first is closed. */
import { afterEach, expect, test, vi } from "vitest";
import { SharedFeed, type FeedStatus } from "../src/feed/leader";
import type { FeedMessage } from "../src/feed/follow";

const tabs: SharedFeed[] = [];
afterEach(() => {
  for (const each of tabs.splice(0)) each.close();
  vi.unstubAllGlobals();
});

/** The lock manager of a browser, with one lock. */
class Locks {
  private tail: Promise<unknown> = Promise.resolve();
  request(_: string, { signal }: { signal: AbortSignal }, held: () => Promise<void>): Promise<void> {
    const turn = this.tail.then(() => (signal.aborted ? undefined : held()));
    this.tail = turn.catch(() => undefined);
    return turn as Promise<void>;
  }
}

interface Stream {
  send: (text: string) => void;
  fail: () => void;
  signal: AbortSignal | null | undefined;
  headers: Headers;
}

function browser(): Stream[] {
  const streams: Stream[] = [];
  vi.stubGlobal("navigator", { locks: new Locks() });
  vi.stubGlobal("fetch", (_: string, init: RequestInit) => {
    const { signal } = init;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        signal?.addEventListener("abort", () => controller.error(new DOMException("aborted", "AbortError")));
        const send = (text: string) => controller.enqueue(new TextEncoder().encode(text));
        const fail = () => controller.error(new TypeError("network error"));
        streams.push({ send, fail, signal, headers: new Headers(init.headers) });
      },
    });
    return Promise.resolve(new Response(body));
  });
  return streams;
}

function tab(): { messages: FeedMessage[]; states: FeedStatus["state"][]; feed: SharedFeed } {
  const messages: FeedMessage[] = [];
  const states: FeedStatus["state"][] = [];
  const feed = new SharedFeed({
    name: "feed:test",
    headers: () => new Headers(),
    heard: (message) => messages.push(message),
    changed: ({ state }) => states.push(state),
    missed: () => undefined,
    returned: () => undefined,
  });
  tabs.push(feed);
  return { messages, states, feed };
}

const beat = (cursor: string) => `id: ${cursor}\nevent: beat\ndata: {"now":"2026-11-18T08:44:18Z","head":"${cursor}"}\n\n`;

test("two tabs hear the same by one connection", async () => {
  const streams = browser();
  const [first, second] = [tab(), tab()];
  await vi.waitFor(() => expect(streams).toHaveLength(1));
  streams[0]?.send(beat("c1"));
  await vi.waitFor(() => expect(second.messages).toHaveLength(1));
  expect(first.messages).toEqual(second.messages);
  expect(first.states.at(-1)).toBe("live");
  expect(second.states.at(-1)).toBe("live");
  expect(streams).toHaveLength(1);
});

test("the second tab continues where the first was when it is closed", async () => {
  const streams = browser();
  const [first, second] = [tab(), tab()];
  await vi.waitFor(() => expect(streams).toHaveLength(1));
  streams[0]?.send(beat("c1"));
  await vi.waitFor(() => expect(second.messages).toHaveLength(1));
  first.feed.close();
  await vi.waitFor(() => expect(streams).toHaveLength(2));
  expect(streams[1]?.headers.get("Last-Event-ID")).toBe("c1");
  streams[1]?.send(beat("c2"));
  await vi.waitFor(() => expect(second.messages).toHaveLength(2));
});

test("what was read before the feed began is read again, and after a loss what it does not repeat", async () => {
  const streams = browser();
  const calls: string[] = [];
  const feed = new SharedFeed({
    name: "feed:returning",
    headers: () => new Headers(),
    heard: () => undefined,
    changed: ({ state }) => calls.push(state),
    missed: () => calls.push("read everything"),
    returned: () => calls.push("read rows"),
  });
  tabs.push(feed);
  await vi.waitFor(() => expect(streams).toHaveLength(1));
  streams[0]?.send(beat("c1"));
  await vi.waitFor(() => expect(calls).toEqual(["live", "read everything"]));
  streams[0]?.fail();
  await vi.waitFor(() => expect(calls.at(-1)).toBe("lost"));
  feed.reconnect();
  await vi.waitFor(() => expect(streams).toHaveLength(2));
  streams[1]?.send(beat("c2"));
  await vi.waitFor(() => expect(calls.slice(2)).toEqual(["lost", "live", "read rows"]));
});
