/** The operations of a site, which the console was not built with. */
import { cleanup, fireEvent, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { affectedBy } from "../src/api/invalidation";
import type { StreamType } from "../src/api/names";
import { isBuiltIn, routes } from "../src/api/routes";
import Palette from "../src/features/palette";
import { isOutdated } from "../src/feed/FeedProvider";
import { eventText } from "../src/text/events";
import { refusal, self, shown, type Answers } from "./served";

beforeAll(() => {
  // Dialogs and scrolling are not a part of jsdom.
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
  HTMLElement.prototype.scrollIntoView = () => undefined;
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const json = (schema: unknown) => ({ content: { "application/json": { schema } } });
const document = {
  paths: {
    "/tools": {
      post: {
        operationId: "register_tool",
        tags: ["Tool"],
        summary: "Register a tool of the loan desk.",
        "x-beamkeep": { title: "Register a tool", aggregate: "Tool", moves: [] },
        parameters: [{ $ref: "#/components/parameters/DryRun" }],
        requestBody: json({ properties: { name: { type: "string" }, size: { anyOf: [{ $ref: "#/components/schemas/Size" }, { type: "null" }] } }, required: ["name"] }),
      },
      get: {
        operationId: "list_tools",
        tags: ["Tool"],
        summary: "List tools.",
        "x-beamkeep": { title: "List tools", command_line: "tool list", aggregate: "Tool", composed_of: ["Asset"] },
        parameters: [],
      },
    },
    "/tools/{tool_id}/scrap": {
      post: {
        operationId: "scrap_tool",
        tags: ["Tool"],
        summary: "Scrap a tool.",
        "x-beamkeep": {
          title: "Scrap a tool",
          aggregate: "Tool",
          destructive: true,
          moves: [{ axis: "status", from: ["OnShelf"], to: "Scrapped", terminal: true, event: "ToolScrapped" }],
        },
        parameters: [{ name: "tool_id", in: "path", required: true, schema: { type: "string", format: "uuid" } }],
      },
    },
    "/zones": { get: { operationId: "list_zones", tags: ["Zone"], summary: "Another text.", parameters: [] } },
  },
  components: { parameters: { DryRun: { name: "dry_run", in: "query", schema: {} } }, schemas: { Size: { type: "string", enum: ["Small", "Large"] }, Unused: {} } },
};

const own = (...permitted: string[]): Answers => ({ "GET /self": self(permitted), "GET /openapi.json": document });

/** Open the palette and search for some words. */
async function searching(words: string, answers: Answers) {
  const service = shown(<Palette request={{}} close={() => undefined} />, answers);
  fireEvent.change(await screen.findByRole("combobox", { hidden: true }), { target: { value: words } });
  return service;
}
const option = (name: RegExp) => screen.findByRole("option", { name, hidden: true });

describe("the operations of a site", () => {
  test("are not asked for where the console knows every operation that this person may call", async () => {
    const { sent } = await searching("define zone", own("define_zone"));
    await option(/Define a zone/);
    await waitFor(() => expect(sent("GET /self")).toHaveLength(1));
    expect(sent("GET /openapi.json")).toEqual([]);
  });

  test("are found by their titles, with a form whose dry run is asked for and whose command is sent", async () => {
    const planned = { events: [{ event_type: "ToolRegistered", payload: { name: "Wrench" } }] };
    const answers = { ...own("register_tool"), "POST dry /tools": planned, "POST /tools": () => Response.json({ tool_id: "t" }, { status: 201 }) };
    const { sent } = await searching("register tool", answers);
    expect((await option(/Register a tool/)).textContent).toContain("Register a tool of the loan desk.");
    expect(await screen.findByRole("option", { name: "Small", hidden: true })).toBeTruthy();
    fireEvent.change(await screen.findByLabelText(/Name/), { target: { value: "Wrench" } });
    expect(await screen.findByText("ToolRegistered")).toBeTruthy();
    expect(sent("POST /tools")).toEqual([]);
    fireEvent.click(await screen.findByRole("button", { name: "Register a tool", hidden: true }));
    await waitFor(() => expect(sent("POST /tools").map(({ body }) => body)).toEqual([{ name: "Wrench" }]));
  });

  test("are copied as a line for a terminal", async () => {
    const copied = vi.fn(() => Promise.resolve());
    vi.stubGlobal("navigator", { clipboard: { writeText: copied } });
    await searching("list tools", { ...own("list_tools"), "GET /tools": { items: [] } });
    await option(/List tools/);
    fireEvent.click(await screen.findByRole("button", { name: "Copy command line", hidden: true }));
    expect(copied.mock.calls).toEqual([["beamkeep tool list"]]);
  });

  test("show why they are refused", async () => {
    await searching("register tool", { ...own("register_tool"), "POST dry /tools": refusal("InvalidToolNameError", { detail: "Tool name must not be blank." }, 422) });
    await option(/Register a tool/);
    fireEvent.change(await screen.findByLabelText(/Name/), { target: { value: " " } });
    expect(await screen.findByText("Tool name must not be blank.")).toBeTruthy();
  });

  test("are permitted by what the service says of this person, and those that end something say so", async () => {
    await searching("scrap tool", own("list_tools"));
    expect((await option(/Scrap a tool/)).getAttribute("aria-disabled")).toBe("true");
    expect(await screen.findByText("The object ends here. This cannot be undone.")).toBeTruthy();
    expect(await screen.findByRole("button", { name: "Scrap a tool permanently", hidden: true })).toBeTruthy();
  });

  test("leave the operations that the console was built with as they are", async () => {
    await searching("tools", own("list_tools", "list_zones"));
    await option(/List tools/);
    expect([isBuiltIn("list_tools"), isBuiltIn("list_zones")]).toEqual([false, true]);
    expect(routes.list_zones.title).not.toBe("Another text.");
  });

  test("leave the palette as it is when the service does not say what they are", async () => {
    await searching("define zone", { "GET /self": self(["list_lamps", "define_zone"]), "GET /openapi.json": refusal("OverloadedError", {}, 503) });
    expect((await option(/Define a zone/)).getAttribute("aria-disabled")).toBe("false");
  });
});

describe("an event of a site", () => {
  const lent = [{ stream: "Tool" as StreamType, id: "t", event: "ToolLent" }];

  test("makes the reads of its aggregate outdated, and events of other aggregates those composed of them", async () => {
    await searching("tools", own("list_tools"));
    await option(/List tools/);
    expect(isOutdated({ queryKey: ["list_tools", {}] }, lent)).toBe(true);
    expect(affectedBy("Asset")).toContain("list_tools");
    expect(isOutdated({ queryKey: ["list_zones", {}] }, lent)).toBe(false);
  });

  test("makes lists of events outdated, also when nothing is known of its aggregate", () => {
    const lit = [{ stream: "Lamp" as StreamType, id: "l", event: "LampLit" }];
    expect(isOutdated({ queryKey: ["list_events", {}] }, lit)).toBe(true);
    expect(isOutdated({ queryKey: ["get_board", {}] }, lit)).toBe(false);
  });

  test("is said in the words of its name", () => {
    expect(eventText("beamkeep.ToolLent")).toEqual({ text: "tool lent", mark: "normal", isAbnormal: false });
  });
});
