/** The commands that a row offers come from the catalogue. */
import { expect, test } from "vitest";
import { commandsFrom, isFinal } from "../src/actions/moves";

test("a clearance under review can be reviewed, approved and rejected", () => {
  expect(commandsFrom("Clearance", { status: "UnderReview" })).toEqual(["append_clearance_review_step", "approve_clearance", "reject_clearance"]);
});

test("an active clearance is not offered its activation, although that supersedes another one", () => {
  expect(commandsFrom("Clearance", { status: "Active" })).toEqual(["expire_clearance"]);
});

test("a visit that has control can release it, and its end comes last", () => {
  const offered = commandsFrom("Visit", { status: "InProgress", controlling: "true" });
  expect(offered).toEqual(["hold_visit", "release_visit_surface_control", "abort_visit", "complete_visit", "void_visit"]);
});

test("only what ends something for good is final", () => {
  expect(["abort_procedure", "complete_visit", "stop_run"].every((name) => isFinal(name as never))).toBe(true);
  expect(["hold_procedure", "activate_clearance", "approve_proposal", "cancel_conduct"].some((name) => isFinal(name as never))).toBe(false);
});
