// @vitest-environment node
/** The feed: parsing, one reader for all tabs, and what makes a read outdated. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { isOutdated } from "../src/feed/FeedProvider";
import { affectedByCommand, ROWS } from "../src/api/invalidation";
import { follow, FeedRefused, type FeedMessage } from "../src/feed/follow";

afterEach(() => vi.unstubAllGlobals());

function answer(parts: string[], status = 200): void {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(new TextEncoder().encode(part));
      controller.close();
    },
  });
  vi.stubGlobal(
    "fetch",
    vi.fn(() => Promise.resolve(new Response(body, { status }))),
  );
}

async function heardFrom(parts: string[]): Promise<[FeedMessage, string | undefined][]> {
  answer(parts);
  const heard: [FeedMessage, string | undefined][] = [];
  await follow({
    headers: new Headers(),
    after: "c0",
    signal: new AbortController().signal,
    heard: (message, cursor) => heard.push([message, cursor]),
  });
  return heard;
}

describe("the feed", () => {
  test("is read across the borders of its parts", async () => {
    const heard = await heardFrom(["retry: 2000\n\nid: c1\nevent: be", 'at\ndata: {"now":"2026-11-18T08:44:18Z","head":"c1"}\n\n']);
    expect(heard).toEqual([[{ kind: "beat", beat: { now: "2026-11-18T08:44:18Z", head: "c1" } }, "c1"]]);
  });

  test("continues after the cursor that was heard last", async () => {
    await heardFrom([]);
    const [, init] = vi.mocked(fetch).mock.calls[0] ?? [];
    expect(new Headers(init?.headers).get("Last-Event-ID")).toBe("c0");
  });

  test("tells why the service ended it", async () => {
    expect(await heardFrom(['event: end\ndata: {"reason":"slow"}\n\n'])).toEqual([[{ kind: "end", reason: "slow" }, undefined]]);
  });

  test("says that it was refused", async () => {
    answer([], 403);
    const following = follow({ headers: new Headers(), after: undefined, signal: new AbortController().signal, heard: () => undefined });
    await expect(following).rejects.toThrow(FeedRefused);
  });
});

describe("an event", () => {
  const held = [{ stream: "Run" as const, id: "a", event: "RunHeld" }];

  test("makes the reads of its object outdated", () => {
    expect(isOutdated({ queryKey: ["get_run", { run_id: "a" }, null] }, held)).toBe(true);
    expect(isOutdated({ queryKey: ["list_runs", {}, null] }, held)).toBe(true);
    expect(isOutdated({ queryKey: ["get_board", { asset_id: "u" }, null] }, held)).toBe(true);
  });

  test("leaves the reads of others alone", () => {
    expect(isOutdated({ queryKey: ["get_run", { run_id: "b" }, null] }, held)).toBe(false);
    expect(isOutdated({ queryKey: ["list_zones", {}, null] }, held)).toBe(false);
  });

  test.each(["Run", "Asset", "Supply", "Enclosure", "Caution", "Clearance", "Decision", "Proposal", "Procedure", "Visit"] as const)(
    "of a %s makes the handover outdated",
    (stream) => {
      const period = { from: "2026-11-18T08:00:00Z", to: "2026-11-18T20:00:00Z" };
      expect(isOutdated({ queryKey: ["get_shift_handover", period, null] }, [{ stream, id: "a", event: "" }])).toBe(true);
    },
  );
});

describe("a command", () => {
  test("that writes a note makes the logbook outdated, without waiting for the notice of its row", () => {
    expect(affectedByCommand("Run")).toContain("list_run_logbook_entries");
    expect(affectedByCommand("Run")).not.toContain("list_decision_logbook_entries");
  });
});

describe("a row added to an object", () => {
  test("makes the plots of a run outdated, and not the board", () => {
    expect(ROWS.run_observation).toEqual(expect.arrayContaining(["get_run_observation_summary", "get_run_series"]));
    expect(ROWS.run_observation).not.toContain("get_board");
  });
});
