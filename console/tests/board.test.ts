/** The Board says what the service says, and no more. */
import { describe, expect, test } from "vitest";
import type { FeedEvent } from "../src/api";
import { abnormalAmong, standing } from "../src/features/board/Panels";
import { nextName, parametersText, verdictOn, type Check, type Readiness } from "../src/features/board/reading";

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

describe("the verdict", () => {
  test("is ready when every check passes", () => {
    expect(verdictOn(readiness(passing, passing), [])).toEqual({ word: "Ready", sentence: "All 2 checks pass.", mark: "normal" });
  });

  test("names the first failing fact and counts the failing checks", () => {
    const verdict = verdictOn(readiness(passing, failing("supply", "Supply", "Ring beam", "Unavailable")), []);
    expect(verdict).toEqual({ word: "Not ready", sentence: "Ring beam is Unavailable. 1 of 2 checks fails.", mark: "blocks" });
  });

  test("is violet when checks fail only because a state is unknown", () => {
    const permit = failing("enclosure", "Enclosure", "Optics hutch", "Unknown (stale: last report 3 days ago), Active");
    expect(verdictOn(readiness(permit), []).mark).toBe("unknown");
    expect(verdictOn(readiness(permit, failing("supply", "Supply", "Ring beam", "Unavailable")), []).mark).toBe("blocks");
  });

  test("asks for a plan when none is selected", () => {
    expect(verdictOn(undefined, []).word).toBe("No plan");
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
