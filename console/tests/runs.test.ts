// @vitest-environment node
/** The states of a run and of what it needs over time. */
import { expect, test } from "vitest";
import { heldFor, indexAt, spanAt, spansOf, stateAfter } from "../src/features/runs/spans";
import { Zone } from "../src/time/zone";
import { tickText } from "../src/ui/Plot";

const RUN = { axis: "status", schema: "RunStatus", until: 100 } as const;
const event = (type: string, at: number, data = {}) => ({ type, at, data });

test("the spans of a run begin with its first state and follow its events", () => {
  const spans = spansOf({ at: 0, state: "Running" }, [event("RunStarted", 0), event("RunHeld", 10), event("RunAdjusted", 20), event("RunResumed", 40)], RUN);
  expect(spans.map(({ state, from, to }) => [state, from, to])).toEqual([
    ["Running", 0, 10],
    ["Held", 10, 40],
    ["Running", 40, undefined],
  ]);
  expect(heldFor(spans, 100)).toBe(30);
  expect(spanAt(spans, 15)?.state).toBe("Held");
});

test("events after the viewed time change nothing", () => {
  expect(spansOf({ at: 0, state: "Running" }, [event("RunHeld", 200)], RUN)).toHaveLength(1);
});

test("the permit of a hutch is the one that was observed", () => {
  expect(stateAfter(event("EnclosurePermitObserved", 0, { from_permit_status: "Unknown", to_permit_status: "Permitted" }), "permit_status")).toBe("Permitted");
});

test("the value at a time is the last one before it", () => {
  expect([0, 1, 2, 2.5, 9].map((moment) => indexAt([1, 2, 3], moment))).toEqual([-1, 0, 1, 1, 2]);
});

test("ticks within one second differ", () => {
  const zone = new Zone("UTC");
  const ticks = [10, 10.2, 10.4].map((tick) => tickText(tick, 0.2, zone));
  expect(ticks).toEqual(["00:00:10.0", "00:00:10.2", "00:00:10.4"]);
  expect(tickText(120, 60, zone)).toBe("00:02");
});
