import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { isOutdated } from "../src/feed/FeedProvider";
import { Pace } from "../src/feed/pace";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A pace whose readings end when the test says so. */
function paced() {
  const readings: { changes: readonly number[]; end: () => void }[] = [];
  const pace = new Pace<number>({
    read: (changes) => new Promise<void>((end) => readings.push({ changes, end })),
    gatherMs: 100,
    restMs: 400,
  });
  return { pace, readings, asked: () => readings.map(({ changes }) => changes) };
}

describe("changes", () => {
  test("that come within a moment are read together", async () => {
    const { pace, asked } = paced();
    pace.add(1);
    await vi.advanceTimersByTimeAsync(50);
    pace.add(2);
    expect(asked()).toEqual([]);
    await vi.advanceTimersByTimeAsync(50);
    expect(asked()).toEqual([[1, 2]]);
  });

  test("that come during a reading wait until it has ended, so that none is given up for the next", async () => {
    const { pace, readings, asked } = paced();
    pace.add(1);
    await vi.advanceTimersByTimeAsync(100);
    for (let more = 2; more < 40; more += 1) {
      pace.add(more);
      await vi.advanceTimersByTimeAsync(50);
    }
    expect(asked()).toHaveLength(1);
    readings[0]?.end();
    await vi.advanceTimersByTimeAsync(399);
    expect(asked()).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(asked()).toHaveLength(2);
    expect(asked()[1]).toHaveLength(38);
  });

  test("after a reading that has ended are read as soon as the first", async () => {
    const { pace, readings, asked } = paced();
    pace.add(1);
    await vi.advanceTimersByTimeAsync(100);
    readings[0]?.end();
    await vi.advanceTimersByTimeAsync(0);
    pace.add(2);
    await vi.advanceTimersByTimeAsync(100);
    expect(asked()).toEqual([[1], [2]]);
  });

  test("are read although an earlier answer never came", async () => {
    const { pace, asked } = paced();
    pace.add(1);
    await vi.advanceTimersByTimeAsync(100);
    pace.add(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked()).toEqual([[1], [2]]);
  });

  test("are not read after the end", async () => {
    const { pace, asked } = paced();
    pace.add(1);
    pace.close();
    pace.add(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked()).toEqual([]);
  });
});

describe("a list of events", () => {
  const held = [{ stream: "Run" as const, id: "a", event: "RunHeld" }];
  const outdated = (parameters: object) => isOutdated({ queryKey: ["list_events", parameters, null] }, held);

  test("is outdated by an event that it would have", () => {
    expect(outdated({})).toBe(true);
    expect(outdated({ stream_type: ["Supply", "Run"], since: "2026-11-18T08:00:00Z" })).toBe(true);
    expect(outdated({ stream_type: "Run" })).toBe(true);
    expect(outdated({ stream_id: ["b", "a"] })).toBe(true);
  });

  test("is not outdated by others, nor when it ends in the past", () => {
    expect(outdated({ stream_type: ["Supply"] })).toBe(false);
    expect(outdated({ stream_id: ["b"] })).toBe(false);
    expect(outdated({ until: "2026-11-18T08:00:00Z" })).toBe(false);
  });
});
