import { afterEach, expect, test, vi } from "vitest";
import { ServiceClient } from "../src/api/client";
import { ServiceClock } from "../src/time/clock";

afterEach(() => {
  vi.unstubAllGlobals();
});

test("a note to the approver is sent whatever its letters are", async () => {
  const sent: Headers[] = [];
  vi.stubGlobal("fetch", (_: string, init: RequestInit) => {
    sent.push(new Headers(init.headers));
    return Promise.resolve(new Response("{}", { status: 202 }));
  });
  const note = "Größere Probe → länger belichten\nDanke";
  const client = new ServiceClient(() => "token", undefined, new ServiceClock());
  await client.send("hold_run", { run_id: "1", reason: "Sample" }, { key: "once", note });
  expect(decodeURIComponent(sent[0]?.get("Proposal-Note") ?? "")).toBe(note);
});
