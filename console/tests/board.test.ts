/** The Board says what the service says, and no more. */
import { describe, expect, test } from "vitest";
import type { FeedEvent } from "../src/api";
import { abnormalAmong, standing } from "../src/features/board/Panels";
import { faultsByPlan, faultsOf, nextName, parametersText, verdictOn, verdictWhile, type BoardAnswer, type Check, type Readiness } from "../src/features/board/reading";

const passing: Check = { check: "plan", passed: true, error: null, facts: [], cleared_by: [] };
const failing = (check: string, kind: string, name: string, state: string): Check => ({
  check,
  passed: false,
  error: "RefusedError",
  facts: [{ kind, id: name, name, state, until: null, valid_from: null, in_force: null }],
  cleared_by: [],
});
const readiness = (...checks: Check[]): Readiness => ({
  plan_id: "p",
  ready: checks.every(({ passed }) => passed),
  checks,
  advisories: [],
  cautions: [],
});

type Asset = NonNullable<BoardAnswer["assets"]>[number];
const asset = (name: string, condition: Asset["condition"], lifecycle: Asset["lifecycle"] = "Active"): Asset => ({
  id: name,
  name,
  condition,
  condition_since: null,
  condition_reason: null,
  lifecycle,
  lifecycle_since: null,
  lifecycle_reason: null,
});
const board = (...assets: Asset[]): Pick<BoardAnswer, "runs" | "assets"> => ({ runs: [], assets });
const advising = (name: string, state: string): Readiness => ({
  ...readiness(passing),
  advisories: [{ kind: "Asset", id: name, name, state, until: null, valid_from: null, in_force: null }],
});

describe("the verdict", () => {
  test("is ready when every check passes", () => {
    expect(verdictOn(readiness(passing, passing), board())).toEqual({ word: "Ready", sentence: "All 2 checks pass.", mark: "normal" });
  });

  test("names the first failing fact and counts the failing checks", () => {
    const verdict = verdictOn(readiness(passing, failing("supply", "Supply", "Ring beam", "Unavailable")), board());
    expect(verdict).toEqual({ word: "Not ready", sentence: "Ring beam is Unavailable. 1 of 2 checks fails.", mark: "blocks" });
  });

  test("is violet when checks fail only because a state is unknown", () => {
    const permit = failing("enclosure", "Enclosure", "Optics hutch", "Unknown (stale: last report 3 days ago), Active");
    expect(verdictOn(readiness(permit), board()).mark).toBe("unknown");
    expect(verdictOn(readiness(permit, failing("supply", "Supply", "Ring beam", "Unavailable")), board()).mark).toBe("blocks");
  });

  test("asks for a plan when none is selected", () => {
    expect(verdictOn(undefined, board()).word).toBe("No plan");
  });
});

describe("a faulted asset", () => {
  test("makes the verdict amber and is counted and named in it", () => {
    const verdict = verdictOn(readiness(passing, passing), board(asset("Second camera", "Faulted"), asset("Stage", "Degraded")));
    expect(verdict).toEqual({ word: "Ready, 1 fault", sentence: "All 2 checks pass. Second camera is Faulted.", mark: "caution" });
    expect(verdictOn(readiness(passing), board(asset("A", "Faulted"), asset("B", "Faulted")))).toMatchObject({
      word: "Ready, 2 faults",
      sentence: "All 1 checks pass. A and 1 more are Faulted.",
    });
  });

  test("leaves a verdict that is not ready as it is", () => {
    const beam = failing("supply", "Supply", "Ring beam", "Unavailable");
    expect(verdictOn(readiness(beam), board(asset("Camera", "Faulted"))).word).toBe("Not ready");
  });

  test("is known by the advisories of the plan too, and counts once", () => {
    expect(faultsOf(null, advising("Camera", "Faulted"))).toEqual([{ id: "Camera", name: "Camera" }]);
    expect(faultsOf([asset("Camera", "Faulted")], advising("Camera", "Faulted"))).toHaveLength(1);
    expect(faultsOf([asset("Camera", "Nominal", "Maintenance")], advising("Stage", "Degraded"))).toEqual([]);
  });

  test("is one of the plan or another of the beamline", () => {
    const used: Check = { ...passing, check: "assets", facts: [{ kind: "Asset", id: "Camera", name: "Camera", state: "Active", until: null, valid_from: null, in_force: null }] };
    const faults = [
      { id: "Camera", name: "Camera" },
      { id: "Second camera", name: "Second camera" },
    ];
    expect(faultsByPlan(faults, readiness(used))).toEqual({ ofPlan: faults.slice(0, 1), others: faults.slice(1) });
  });
});

describe("what no event keeps current", () => {
  const ready = verdictOn(readiness(passing), board());

  test.each(["lost", "refused"] as const)("is unknown while the feed is %s", (state) => {
    expect(verdictWhile(state, ready)).toMatchObject({ word: "Unknown", mark: "unknown" });
    expect(verdictWhile(state, ready).sentence).toContain("The last verdict was «Ready».");
  });

  test.each(["live", "connecting"] as const)("is shown while the feed is %s", (state) => {
    expect(verdictWhile(state, ready)).toBe(ready);
  });
});

test("the next run has the next number", () => {
  expect(nextName("Run 14")).toBe("Run 15");
  expect(nextName("scan_009")).toBe("scan_010");
  expect(nextName("Flat field")).toBe("Run 1");
});

test("parameters have their units", () => {
  const schema = { properties: { energy: { unit: { code: "keV" } }, projections: { unit: { code: "1" } } } };
  expect(parametersText({ energy: 25, projections: 1501 }, schema)).toBe("25 keV · 1,501 projections");
});

describe("recent events", () => {
  const event = (id: string, type: string, streamid: string) => ({ id, type: `beamkeep.${type}`, streamid, data: {} }) as FeedEvent;
  const newestFirst = [
    event("4", "SupplyMarkedUnavailable", "beam"),
    event("3", "RunResumed", "run"),
    event("2", "RunHeld", "run"),
    event("1", "SupplyMarkedUnavailable", "beam"),
    event("0", "RunStarted", "run"),
  ];

  test("among the abnormal ones are those that ended something abnormal", () => {
    expect(abnormalAmong(newestFirst, new Set(["beam"])).map(({ id }) => id)).toEqual(["4", "3", "2", "1"]);
  });

  test("keep their colour only while their object is abnormal", () => {
    expect(standing(newestFirst, new Set(["beam"]))).toEqual(new Set(["4"]));
  });
});
