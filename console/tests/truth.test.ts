// @vitest-environment node
/** What is shown is what is known: plots, axes, steps, iterations, what is in the way of a resume. */
import { describe, expect, test } from "vitest";
import { clearing, despite, ASKED } from "../src/actions/asking";
import type { Fact } from "../src/api";
import { iterationShown } from "../src/features/procedures/steps";
import { asText, type Shift } from "../src/features/handover/text";
import { abnormalFacts, factState, factText } from "../src/text/facts";
import { fieldLabel } from "../src/text/fields";
import { reasonText, refusalText, withStepNumbers } from "../src/text/steps";
import { gapsIn, lonely, tickLabels, withGaps } from "../src/ui/series";

const fact = (kind: string, name: string, state: string): Fact => ({ kind, id: name, name, state });

describe("a plot", () => {
  const read = (times: number[]) => ({ name: "Ring current", times, values: times.map(() => 200) });

  test("has a gap where nothing was read for five times as long as usual", () => {
    const { times, values } = withGaps(read([0, 1, 2, 3, 20, 21, 22]));
    expect(times).toEqual([0, 1, 2, 3, 4, 20, 21, 22]);
    expect(values).toEqual([200, 200, 200, 200, null, 200, 200, 200]);
    expect(gapsIn(values)).toBe(1);
  });

  test("has none between readings that are a little late", () => {
    expect(withGaps(read([0, 1, 2, 6, 7])).values).not.toContain(null);
  });

  test("has nothing after the last reading when that is long ago", () => {
    expect(withGaps(read([0, 1, 2, 3]), 60).values.at(-1)).toBeNull();
    expect(withGaps(read([0, 1, 2, 3]), 5).values.at(-1)).toBe(200);
  });

  test("interrupts the envelope with the line", () => {
    const series = { ...read([0, 1, 2, 30]), minimum: [1, 1, 1, 1], maximum: [2, 2, 2, 2] };
    expect(withGaps(series)).toMatchObject({ minimum: [1, 1, 1, null, 1], maximum: [2, 2, 2, null, 2] });
  });

  test("stays as it is when it is asked about again", () => {
    const once = withGaps(read([0, 1, 2, 3, 20, 21, 22]));
    expect(gapsIn(withGaps(once).values)).toBe(1);
  });

  test("draws a point for a reading between two gaps", () => {
    expect(lonely([1, null, 2, null, 3, 4])).toEqual([0, 2]);
  });
});

describe("an axis", () => {
  test.each([
    [
      [200.0001, 200.0002, 200.0003],
      ["200.0001", "200.0002", "200.0003"],
    ],
    [
      [0, 0.25, 0.5],
      ["0.00", "0.25", "0.50"],
    ],
    [
      [123456.2, 123456.4, 123456.6],
      ["123,456.2", "123,456.4", "123,456.6"],
    ],
    [
      [0, 500, 1000],
      ["0", "500", "1,000"],
    ],
    [
      [1234567, 1234568],
      ["1,234,567", "1,234,568"],
    ],
    [
      [-0.1, -2.7e-17, 0.1],
      ["-0.1", "0.0", "0.1"],
    ],
    [
      [1e-8, 1.5e-8, 2e-8],
      ["1.0e-8", "1.5e-8", "2.0e-8"],
    ],
    [
      [2e9, 2.5e9],
      ["2.0e+9", "2.5e+9"],
    ],
    [[7], ["7"]],
  ])("tells %j apart", (ticks, labels) => {
    expect(tickLabels(ticks)).toEqual(labels);
  });
});

describe("a step", () => {
  test("has the number of its page in forms and dry runs", () => {
    expect(withStepNumbers("from_step_index", 2)).toBe(3);
    expect(withStepNumbers("redo_step_indexes", [0, 4])).toEqual([1, 5]);
    expect(withStepNumbers("attempt", 2)).toBe(2);
    expect(["from_step_index", "skip_step_indexes"].map(fieldLabel)).toEqual(["From step", "Skip steps"]);
  });

  test("has it in reasons and in the refusals that name steps", () => {
    expect(reasonText("check[2] bl:x: CheckFailedError: 3 is not 4")).toBe("Step 3, check bl:x: CheckFailedError: 3 is not 4");
    expect(reasonText("The sample[2] is looked at")).toBe("The sample[2] is looked at");
    const sentence = "Step 2 is not finished; from_step_index must be 2 or less.";
    expect(refusalText("InvalidConductFromError", sentence)).toBe("Step 3 is not finished; «From step» must be 3 or less.");
    expect(refusalText("RunCannotHoldError", sentence)).toBe(sentence);
  });
});

test("iterations are counted from 1, as the service counts them", () => {
  expect(iterationShown({ iteration_count: 3, current_iteration_index: null })).toBe(3);
  expect(iterationShown({ iteration_count: 3, current_iteration_index: 3 })).toBe(3);
  expect(iterationShown({ iteration_count: 0, current_iteration_index: null })).toBeUndefined();
});

describe("what is in the way of a resume", () => {
  const facts = [fact("Supply", "Ring beam", "Unavailable"), fact("Enclosure", "Hutch B", "NotPermitted, Active"), fact("Enclosure", "Hutch A", "Permitted, Active")];

  test("is shown without what is as it should be", () => {
    expect(abnormalFacts(facts).map(({ name }) => name)).toEqual(["Ring beam", "Hutch B"]);
    expect(facts.map(factState)).toEqual(["Unavailable", "Not permitted", "Permitted"]);
    expect(factText(fact("Enclosure", "Hutch B", "Unknown (stale: last report 3 days ago), Active"))).toBe("Hutch B is Unknown (stale: last report 3 days ago)");
  });

  test("has with each fact the operations on its kind alone", () => {
    const ways = ["mark_supply_recovering", "restore_supply", "observe_enclosure_status"];
    expect(facts.slice(0, 2).map((each) => clearing(ways, each, facts))).toEqual([["mark_supply_recovering", "restore_supply"], ["observe_enclosure_status"]]);
  });

  test("stays in view as far as the resume continues in spite of it", () => {
    const asked = ASKED.RunResumeRequiresAcknowledgementError;
    if (!asked) throw new Error("a resume asks for an acknowledgement");
    expect(despite(facts, asked, [{ payload: { acknowledged: [{ kind: "Supply", id: "Ring beam", state: "Unavailable" }] } }])).toEqual(facts.slice(0, 1));
    expect(despite(facts, asked, [{ payload: { acknowledged: [] } }])).toEqual([]);
  });
});

describe("the text of a handover", () => {
  const empty = { expiring: [], open: [] } as unknown as Shift;

  test("has the note that was handed over and the one that is being written", () => {
    const notes = { handedOver: [{ at: "2026-11-18T20:00:00Z", by: "Olga", text: "The samples are in the grey box." }], draft: " Beam is back at ten. " };
    expect(asText(empty, notes, "Wed 18 Nov", () => "20:00").split("\n\n")).toEqual([
      "Handover Wed 18 Nov",
      "Note, handed over 20:00 by Olga\nThe samples are in the grey box.",
      "Note, not handed over yet\nBeam is back at ten.",
      "Still open",
    ]);
  });

  test("has no note where nobody wrote one", () => {
    expect(asText(empty, { handedOver: [], draft: "" }, "now", () => "")).not.toContain("Note");
  });
});
