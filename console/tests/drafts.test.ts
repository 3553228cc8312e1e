/** A text that somebody has begun to write is not lost. */
import { beforeEach, expect, test, vi } from "vitest";

beforeEach(() => sessionStorage.clear());

async function loaded() {
  vi.resetModules();
  return import("../src/view/drafts");
}

test("a draft survives a reload of the page", async () => {
  (await loaded()).setDraft("handover:olga", "The samples");
  expect((await loaded()).draft("handover:olga")).toBe("The samples");
});

test("a draft that was sent is gone, and nobody else has it", async () => {
  const { draft, setDraft } = await loaded();
  setDraft("handover:olga", "The samples");
  expect(draft("handover:ada")).toBe("");
  setDraft("handover:olga", "");
  expect(draft("handover:olga")).toBe("");
  expect(sessionStorage).toHaveLength(0);
});

test("a sign-out forgets every draft", async () => {
  const { draft, forgetDrafts, setDraft } = await loaded();
  setDraft("handover:olga", "The samples");
  sessionStorage.setItem("other", "stays");
  forgetDrafts();
  expect(draft("handover:olga")).toBe("");
  expect(Object.keys(sessionStorage)).toEqual(["other"]);
});
