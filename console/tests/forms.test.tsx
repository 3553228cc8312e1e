/** Forms are made from the schemas of every operation. */
import { readFileSync } from "node:fs";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Catalogue, Schema } from "../src/api/catalogue.json";
import { SchemaForm } from "../src/ui/SchemaForm";
import { controlOf, emptyOf, plain } from "../src/ui/schemas";

const { operations, schemas } = JSON.parse(readFileSync("src/api/catalogue.json", "utf8")) as Catalogue;
const pick = () => Promise.resolve([]);
afterEach(cleanup);

function form(fields: Record<string, Schema>, values: Record<string, unknown> = {}, required: string[] = []) {
  const change = vi.fn();
  const shown = render(<SchemaForm fields={fields} required={required} schemas={schemas} values={values} change={change} pick={pick} />);
  return { change, ...shown };
}

describe("a form", () => {
  test.each(Object.keys(operations))("of %s has a field for every argument", (name) => {
    const { fields, required } = operations[name as keyof typeof operations];
    const { container } = form(fields, {}, required);
    const asked = Object.keys(fields).filter((field) => controlOf(field, fields[field] ?? {}, schemas).shows !== "fixed");
    expect(container.querySelectorAll(":scope > .form > [data-control], :scope > .form > details > .form > [data-control]")).toHaveLength(asked.length);
    // Plain JSON is left only where the service itself takes any JSON.
    for (const field of asked)
      if (controlOf(field, fields[field] ?? {}, schemas).shows === "json") {
        const { properties = {}, additionalProperties } = plain(fields[field] ?? {}, schemas);
        if (!additionalProperties) expect(properties, `${name} ${field}`).toEqual({});
      }
  });

  test("sends a number as a number and what is none as it was typed", () => {
    const { change } = form({ exposure: { type: "number" } });
    fireEvent.change(screen.getByLabelText(/Exposure/), { target: { value: "0.1" } });
    expect(change).toHaveBeenLastCalledWith({ exposure: 0.1 });
    fireEvent.change(screen.getByLabelText(/Exposure/), { target: { value: "many" } });
    expect(change).toHaveBeenLastCalledWith({ exposure: "many" });
  });

  test("offers the words that the service suggests and accepts any other", () => {
    const { fields } = operations.register_supply;
    const { container, change } = form(fields);
    const kind = screen.getByLabelText<HTMLInputElement>(/Kind/);
    expect([...(kind.list?.options ?? [])].map(({ value }) => value)).toContain("photon_beam");
    expect(container.querySelectorAll("datalist option")).toHaveLength(9);
    fireEvent.change(kind, { target: { value: "helium" } });
    expect(change).toHaveBeenLastCalledWith({ kind: "helium" });
  });

  test("leaves out a field that was emptied", () => {
    const { change } = form({ reason: { type: "string" } }, { reason: "a" });
    fireEvent.change(screen.getByLabelText(/Reason/), { target: { value: "" } });
    expect(change).toHaveBeenLastCalledWith({});
  });

  test("sends null for a required member that is left empty and may be null", () => {
    const { change } = form({
      pointer: { type: "object", properties: { head: { type: "string" }, seal: { anyOf: [{ type: "string" }, { type: "null" }] } }, required: ["head", "seal"] } as Schema,
    });
    fireEvent.change(screen.getByLabelText(/Head/), { target: { value: "a" } });
    expect(change).toHaveBeenLastCalledWith({ pointer: { head: "a", seal: null } });
    fireEvent.change(screen.getByLabelText(/Seal/), { target: { value: "b" } });
    expect(change).toHaveBeenLastCalledWith({ pointer: { seal: "b" } });
  });

  test("shows the unit and the range of a parameter of the domain", () => {
    const parameters = { type: "object", properties: { energy: { type: "number", minimum: 5, maximum: 40, unit: { code: "keV" } } } };
    render(
      <SchemaForm
        fields={{ override_parameters: { type: "object" } }}
        required={[]}
        schemas={schemas}
        values={{}}
        change={() => undefined}
        pick={pick}
        domain={{ override_parameters: parameters as Schema }}
      />,
    );
    expect(screen.getByPlaceholderText("from 5 to 40")).toBeTruthy();
    expect(screen.getByText("keV")).toBeTruthy();
  });

  test("shows what is wrong at the field", () => {
    render(
      <SchemaForm
        fields={{ name: { type: "string" } }}
        required={["name"]}
        schemas={schemas}
        values={{}}
        change={() => undefined}
        pick={pick}
        wrong={{ name: "Field required" }}
      />,
    );
    expect(screen.getByLabelText(/Name/).getAttribute("aria-invalid")).toBe("true");
    expect(screen.getByText("Field required")).toBeTruthy();
  });

  test("names the forms of a step by their kinds, and asks for no other kind", () => {
    const step = controlOf("steps", schemas["RecipeStep-Input"] ?? {}, schemas);
    expect(step).toMatchObject({ shows: "one of", options: [{ title: "Setpoint" }, { title: "Action" }, { title: "Check" }, { title: "Capture" }, { title: "Compute" }] });
    expect(controlOf("kind", { type: "string", enum: ["setpoint"] }, schemas)).toEqual({ shows: "fixed", value: "setpoint" });
  });

  test("sends what the schema fixes without asking for it, and at once", () => {
    const step = (kind: string): Schema => ({ type: "object", properties: { kind: { type: "string", enum: [kind] }, address: { type: "string" } }, required: ["kind", "address"] });
    const { change } = form({ steps: { type: "array", items: { anyOf: [step("setpoint"), step("check")] } } }, { steps: [{ kind: "setpoint" }] });
    fireEvent.click(screen.getByRole("button", { name: "Add step" }));
    expect(change).toHaveBeenCalledExactlyOnceWith({ steps: [{ kind: "setpoint" }, { kind: "setpoint" }] });
    fireEvent.change(screen.getByLabelText("Address"), { target: { value: "bl:x" } });
    expect(change).toHaveBeenLastCalledWith({ steps: [{ kind: "setpoint", address: "bl:x" }] });
    fireEvent.change(screen.getByLabelText("Form"), { target: { value: "1" } });
    expect(change).toHaveBeenLastCalledWith({ steps: [{ kind: "check" }] });
    expect(change).toHaveBeenCalledTimes(3);
  });

  test("offers one list for two enumerations, and one choice for a choice within a choice", () => {
    const algorithms = { anyOf: [{ enum: ["sha256"] }, { enum: ["md5"] }, { type: "null" }] };
    expect(controlOf("algorithm", algorithms, schemas)).toEqual({ shows: "choice", words: ["sha256", "md5"] });
    const value = { anyOf: [{ anyOf: [{ type: "boolean" }, { type: "number" }] }, { type: "string" }] };
    expect(controlOf("value", value, schemas)).toMatchObject({ options: [{ title: "boolean" }, { title: "number" }, { title: "string" }] });
  });

  test("distinguishes no, yes and no answer where the service does", () => {
    const { change } = form({ converged: { anyOf: [{ type: "boolean" }, { type: "null" }] } });
    fireEvent.change(screen.getByLabelText(/Converged/), { target: { value: "false" } });
    expect(change).toHaveBeenLastCalledWith({ converged: false });
  });

  test("knows what stands for a required field that is left empty", () => {
    expect(emptyOf({ anyOf: [{ type: "string" }, { type: "null" }] }, schemas)).toBeNull();
    expect(emptyOf({ type: "array", items: { type: "string" } }, schemas)).toEqual([]);
    expect(emptyOf({ type: "array", items: { type: "string" }, minItems: 1 }, schemas)).toBeUndefined();
    expect(emptyOf({ type: "string" }, schemas)).toBeUndefined();
  });
});
