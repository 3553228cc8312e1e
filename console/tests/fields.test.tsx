/** What each kind of field shows, and which value it gives. */
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Schema } from "../src/api/catalogue.json";
import { Zone, ZoneContext } from "../src/time";
import { SchemaForm, type SchemaFormProps } from "../src/ui";
import type { Found } from "../src/ui/ObjectPicker";
import { blank, controlOf, emptyOf, plain, unasked } from "../src/ui/schemas";

const SCHEMAS: Record<string, Schema> = { Reason: { type: "string", maxLength: 500 }, Kind: { type: "string", enum: ["Beam", "Gas"] } };
const PLANS: Found[] = ["Tomography", "Diffraction"].map((name, at) => ({ id: `plan ${at}`, kind: "Plan", name, status: "Active" }));
const nothing = () => Promise.resolve([]);

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

/** Show a form that keeps its values; return what it would send. */
function form(fields: Record<string, Schema>, { values = {}, required = [], pick = nothing, ...more }: Partial<SchemaFormProps> = {}) {
  let sent = values;
  function Form() {
    const [own, change] = useState(values);
    sent = own;
    return <SchemaForm fields={fields} required={required} schemas={SCHEMAS} values={own} change={change} pick={pick} {...more} />;
  }
  const page = render(<ZoneContext value={new Zone("Europe/Berlin")}>{<Form />}</ZoneContext>);
  return { ...page, sent: () => sent };
}

const type = (label: string | RegExp, value: string) => fireEvent.change(screen.getByLabelText(label), { target: { value } });
const press = (name: string) => fireEvent.click(screen.getByRole("button", { name }));

describe("the fields of a form", () => {
  test("stand in the order of the schema, the required ones first, the rare ones folded, the given ones left out", () => {
    const text: Schema = { type: "string" };
    const { container } = form({ note: text, raid: text, name: text, run_id: text }, { required: ["name"], hidden: ["run_id"] });
    expect([...container.querySelectorAll<HTMLElement>("[data-field]")].map(({ dataset }) => dataset.field)).toEqual(["name", "note", "raid"]);
    expect(container.querySelector("details:not([open]) [data-field]")?.getAttribute("data-field")).toBe("raid");
    expect(container.querySelectorAll("em")).toHaveLength(2);
  });

  test("say what they mean, and what is wrong instead when something is", () => {
    const name: Schema = { type: "string", description: "As on the door." };
    const { container } = form({ name, hutch: name }, { wrong: { name: "Too long" } });
    const described = (field: string) => document.getElementById(container.querySelector(`[data-field=${field}] input`)?.getAttribute("aria-describedby") ?? "")?.textContent;
    expect(described("name")).toBe("Too long");
    expect(described("hutch")).toBe("As on the door.");
  });

  test("name a field within another one by its path", () => {
    const point: Schema = { type: "object", properties: { x: { type: "number" }, y: { type: "number" } } };
    form({ points: { type: "array", items: point } }, { values: { points: [{ x: 1 }] }, wrong: { "points.0.y": "Field required" } });
    expect(screen.getByLabelText(/^X/).getAttribute("aria-invalid")).toBeNull();
    expect(screen.getByLabelText(/^Y/).getAttribute("aria-invalid")).toBe("true");
  });
});

describe("a field", () => {
  test("of a number keeps what is typed until it is a number", () => {
    const { sent } = form({ energy: { type: "number", minimum: 5, maximum: 40 } });
    const shown = () => screen.getByLabelText<HTMLInputElement>(/Energy/).value;
    type(/Energy/, "25.");
    expect([shown(), sent()]).toEqual(["25.", { energy: "25." }]);
    type(/Energy/, "25.50");
    expect([shown(), sent()]).toEqual(["25.50", { energy: 25.5 }]);
    type(/Energy/, " ");
    expect(sent()).toEqual({});
  });

  test("of a step has the number of the page and gives the index of the service", () => {
    const { sent } = form({ from_step_index: { type: "integer" } }, { values: { from_step_index: 0 } });
    expect(screen.getByLabelText<HTMLInputElement>(/From step/).value).toBe("1");
    type(/From step/, "4");
    expect(sent()).toEqual({ from_step_index: 3 });
  });

  test("of a yes or no leaves open what was not chosen", () => {
    const { sent } = form({ ready: { anyOf: [{ type: "boolean" }, { type: "null" }] } });
    type(/Ready/, "false");
    expect(sent()).toEqual({ ready: false });
    type(/Ready/, "");
    expect(sent()).toEqual({});
  });

  test.each([
    [true, { safe: false }],
    [false, {}],
  ])("with a box to tick that is required (%s) gives what it must when it is empty", (isRequired, left) => {
    const { sent } = form({ safe: { type: "boolean" } }, { required: isRequired ? ["safe"] : [] });
    fireEvent.click(screen.getByLabelText(/Safe/));
    expect(sent()).toEqual({ safe: true });
    fireEvent.click(screen.getByLabelText(/Safe/));
    expect(sent()).toEqual(left);
  });

  test("of a choice offers the words of a schema that has a name", () => {
    const { sent } = form({ kind: { $ref: "#/components/schemas/Kind" } });
    expect([...screen.getByLabelText<HTMLSelectElement>(/Kind/).options].map(({ value }) => value)).toEqual(["", "Beam", "Gas"]);
    type(/Kind/, "Gas");
    expect(sent()).toEqual({ kind: "Gas" });
  });

  test("of several words gives them in the order in which they were chosen", () => {
    const { sent } = form({ kinds: { type: "array", items: { $ref: "#/components/schemas/Kind" } } });
    for (const word of ["Gas", "Beam"]) fireEvent.click(screen.getByLabelText(word));
    expect(sent()).toEqual({ kinds: ["Gas", "Beam"] });
    for (const word of ["Gas", "Beam"]) fireEvent.click(screen.getByLabelText(word));
    expect(sent()).toEqual({});
  });

  test("of a time is in the zone of the facility", () => {
    const { sent } = form({ valid_until: { type: "string", format: "date-time" } }, { values: { valid_until: "2026-11-18T08:44:18Z" } });
    expect(screen.getByLabelText<HTMLInputElement>(/Valid until/).value.slice(0, 19)).toBe("2026-11-18T09:44:18");
    type(/Valid until/, "2026-07-01T12:00");
    expect(sent()).toEqual({ valid_until: "2026-07-01T10:00:00.000Z" });
  });

  test("of a long text has several lines", () => {
    form({ reason: { $ref: "#/components/schemas/Reason" } });
    expect(screen.getByLabelText(/Reason/).tagName).toBe("TEXTAREA");
  });

  test("of plain JSON gives what the text says, and a text that says nothing as it is", () => {
    const { sent } = form({ inputs: { type: "object" } });
    type(/Inputs/, '{"a": 1}');
    expect(sent()).toEqual({ inputs: { a: 1 } });
    type(/Inputs/, "{");
    expect(sent()).toEqual({ inputs: "{" });
  });

  test("of a map has a name and a value for each entry", () => {
    const { sent } = form({ limits: { type: "object", additionalProperties: { type: "number" } } }, { values: { limits: { x: 1 } } });
    press("Add entry");
    fireEvent.change(screen.getAllByLabelText("Name")[1] as HTMLElement, { target: { value: "y" } });
    fireEvent.change(screen.getAllByLabelText("Value")[1] as HTMLElement, { target: { value: "2" } });
    expect(sent()).toEqual({ limits: { x: 1, y: 2 } });
    press("Remove x");
    expect(sent()).toEqual({ limits: { y: 2 } });
    press("Remove y");
    expect(sent()).toEqual({});
  });

  test("of a list loses the entry that is removed, and no other", () => {
    const { sent } = form({ tags: { type: "array", items: { type: "string" } } }, { values: { tags: ["a", "b", "c"] } });
    press("Remove Tag 2");
    expect(sent()).toEqual({ tags: ["a", "c"] });
    type("Tag 2", "d");
    expect(sent()).toEqual({ tags: ["a", "d"] });
  });
});

describe("a field for an object", () => {
  const plan = { plan_id: { type: "string", format: "uuid" } } satisfies Record<string, Schema>;
  const field = () => screen.getByRole<HTMLInputElement>("combobox");
  const search = (value: string) => fireEvent.change(field(), { target: { value } });
  const found = async () => act(() => vi.advanceTimersByTimeAsync(200));
  beforeEach(() => void vi.useFakeTimers());

  test("finds it by its name, gives its id and shows its name", async () => {
    const pick = vi.fn(() => Promise.resolve(PLANS));
    const { sent } = form(plan, { pick });
    search("t");
    await found();
    expect(pick).toHaveBeenLastCalledWith("Plan", "t");
    fireEvent.keyDown(field(), { key: "ArrowDown" });
    fireEvent.keyDown(field(), { key: "Enter" });
    await found();
    expect(sent()).toEqual({ plan_id: "plan 1" });
    expect(field().value).toBe("Diffraction");
    expect(screen.queryByRole("option")).toBeNull();
  });

  test("shows the answer to the last text, whichever comes last", async () => {
    const answers: ((found: Found[]) => void)[] = [];
    form(plan, { pick: () => new Promise((resolve) => answers.push(resolve)) });
    search("t");
    await found();
    search("to");
    await found();
    await act(() => Promise.resolve(answers[1]?.(PLANS.slice(0, 1))));
    await act(() => Promise.resolve(answers[0]?.(PLANS)));
    expect(screen.getAllByRole("option").map(({ textContent }) => textContent)).toEqual(["Tomography plan, active"]);
  });

  test("takes an id that was pasted although its name cannot be read", async () => {
    const id = "01890a5d-ac96-774b-bcce-b302099a8057";
    const { sent } = form(plan);
    search(id);
    await found();
    fireEvent.pointerDown(screen.getByRole("option"));
    await found();
    expect(sent()).toEqual({ plan_id: id });
    expect(field().value).toBe("plan with this id");
  });

  test("gives nothing when the search is left", async () => {
    const { sent } = form(plan, { pick: () => Promise.resolve(PLANS) });
    search("t");
    await found();
    fireEvent.keyDown(field(), { key: "Escape" });
    expect(screen.queryByRole("option")).toBeNull();
    expect(sent()).toEqual({});
  });
});

describe("a schema", () => {
  const nullable = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] });

  test("is read through its references and without its null, with its other keywords", () => {
    expect(plain({ ...nullable({ $ref: "#/components/schemas/Reason" }), description: "Why" }, SCHEMAS)).toEqual({ type: "string", maxLength: 500, description: "Why" });
    expect(plain({ allOf: [{ $ref: "#/components/schemas/Kind" }], default: "Gas" }, SCHEMAS)).toEqual({ type: "string", enum: ["Beam", "Gas"], default: "Gas" });
  });

  test("that may be empty is sent without being asked for", () => {
    expect(emptyOf(nullable({ type: "string" }), SCHEMAS)).toBeNull();
    expect(emptyOf({ type: "array" }, SCHEMAS)).toEqual([]);
    expect(emptyOf({ type: "array", minItems: 1 }, SCHEMAS)).toBeUndefined();
    expect(unasked({ kind: { const: "step" }, note: nullable({ type: "string" }), tags: { type: "array" } }, ["kind", "tags"], SCHEMAS)).toEqual({ kind: "step", tags: [] });
  });

  test("begins a new entry with what is fixed, and leaves the rest to be filled in", () => {
    const group: Schema = { type: "object", properties: { kind: { const: "step" }, name: { type: "string" } }, required: ["kind", "name"] };
    expect(blank(controlOf("", group, SCHEMAS), SCHEMAS)).toEqual({ kind: "step" });
    expect(blank(controlOf("", { anyOf: [group, { type: "string" }] }, SCHEMAS), SCHEMAS)).toEqual({ kind: "step" });
    expect(["boolean", "array", "string"].map((each) => blank(controlOf("", { type: each }, SCHEMAS), SCHEMAS))).toEqual([false, [], ""]);
  });
});
