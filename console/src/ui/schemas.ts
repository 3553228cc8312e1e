/** What a form shows for a JSON Schema. */
import type { Schema } from "../api/catalogue.json";
import { kindOfField } from "../text/fields";
import { holdsSteps } from "../text/steps";

export type Schemas = Record<string, Schema>;

/** A schema as a method or a family declares it; numbers carry their unit. */
export type DomainSchema = Schema & { unit?: { code?: string; label?: string } };

/** What is shown for a schema. */
export type Control =
  | { shows: "text"; isLong: boolean; maxLength: number | undefined; suggested: readonly string[] }
  | { shows: "number"; isWhole: boolean; minimum: number | undefined; maximum: number | undefined; unit: string | undefined }
  | { shows: "step" }
  | { shows: "flag" }
  | { shows: "yes or no" }
  | { shows: "choice"; words: readonly string[] }
  | { shows: "time" }
  | { shows: "object id"; kind: string }
  | { shows: "list"; of: Schema }
  | { shows: "choices"; words: readonly string[] }
  | { shows: "group"; fields: Record<string, Schema>; required: readonly string[] }
  | { shows: "map"; of: Schema }
  | { shows: "one of"; options: readonly { title: string; schema: Schema }[] }
  | { shows: "fixed"; value: unknown }
  | { shows: "json" };

/** Return a schema without references and without the choice of null. */
export function plain(schema: Schema, schemas: Schemas): Schema {
  if (schema.$ref) {
    const { $ref, ...rest } = schema;
    const named = schemas[$ref.split("/").at(-1) ?? ""];
    return named ? plain({ ...named, ...rest }, schemas) : rest;
  }
  if (schema.allOf?.length === 1 && schema.allOf[0]) {
    const { allOf, ...rest } = schema;
    return plain({ ...allOf[0], ...rest }, schemas);
  }
  const options = schema.anyOf ?? schema.oneOf;
  if (!options) return schema;
  const real = options.filter(({ type }) => type !== "null");
  if (real.length === 1 && real[0]) {
    const { anyOf, oneOf, ...rest } = schema;
    return plain({ ...real[0], ...rest }, schemas);
  }
  return schema;
}

/** Return whether a field may be null. */
function isNullable(schema: Schema): boolean {
  return (schema.anyOf ?? schema.oneOf ?? []).some(({ type }) => type === "null");
}

/** Return what stands for a required field that is left empty; undefined when it must be filled in. */
export function emptyOf(schema: Schema, schemas: Schemas): unknown {
  if (isNullable(schema)) return null;
  const { type, minItems = 0 } = plain(schema, schemas);
  return type === "array" && minItems === 0 ? [] : undefined;
}

/** Return the members of an object that are sent without being filled in. */
export function unasked(fields: Record<string, Schema>, required: readonly string[], schemas: Schemas): Record<string, unknown> {
  const found = Object.entries(fields).map(([name, schema]) => {
    const control = controlOf(name, schema, schemas);
    if (control.shows === "fixed") return [name, control.value] as const;
    return [name, required.includes(name) ? emptyOf(schema, schemas) : undefined] as const;
  });
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}

/** Return what a form shows for a field. */
export function controlOf(name: string, given: Schema, schemas: Schemas): Control {
  const schema: DomainSchema = plain(given, schemas);
  if (schema.const !== undefined) return { shows: "fixed", value: schema.const };
  // The generated description tells the forms of a choice apart by an enumeration of one word.
  if (schema.enum?.length === 1) return { shows: "fixed", value: schema.enum[0] };
  if (schema.enum) return { shows: "choice", words: schema.enum };
  const options = schema.anyOf ?? schema.oneOf;
  if (options) {
    // A choice within a choice is one choice.
    const real = options.flatMap((each) => plain(each, schemas).anyOf ?? [each]).filter(({ type }) => type !== "null");
    const words = real.map((each) => plain(each, schemas).enum);
    if (words.every((each) => each !== undefined)) return { shows: "choice", words: words.flat() };
    return { shows: "one of", options: real.map((each, index) => ({ title: titleOf(each, schemas, index), schema: each })) };
  }
  switch (schema.type) {
    case "boolean":
      return { shows: isNullable(given) ? "yes or no" : "flag" };
    case "integer":
    case "number": {
      if (holdsSteps(name)) return { shows: "step" };
      const unit = schema.unit?.label ?? schema.unit?.code;
      const minimum = schema.minimum ?? schema.exclusiveMinimum;
      return { shows: "number", isWhole: schema.type === "integer", minimum, maximum: schema.maximum, unit };
    }
    case "string": {
      if (schema.format === "date-time") return { shows: "time" };
      if (schema.format === "uuid") return { shows: "object id", kind: kindOfField(name) ?? "" };
      return { shows: "text", isLong: (schema.maxLength ?? 0) > 300, maxLength: schema.maxLength, suggested: schema.examples ?? [] };
    }
    case "array": {
      const items = schema.items ?? {};
      const item = plain(items, schemas);
      return item.enum ? { shows: "choices", words: item.enum } : { shows: "list", of: items };
    }
    case "object": {
      // An object that may hold anything in addition to what is described is entered as a whole.
      if (schema.properties && Object.keys(schema.properties).length > 0 && !schema.additionalProperties)
        return { shows: "group", fields: schema.properties, required: schema.required ?? [] };
      if (typeof schema.additionalProperties === "object") return { shows: "map", of: schema.additionalProperties };
      return { shows: "json" };
    }
    default:
      return { shows: "json" };
  }
}

function titleOf(schema: Schema, schemas: Schemas, index: number): string {
  const { title, type, properties, format } = plain(schema, schemas);
  const kind = properties?.kind?.const ?? properties?.kind?.enum?.[0];
  if (typeof kind === "string") return kind.charAt(0).toUpperCase() + kind.slice(1).replaceAll("_", " ");
  const name = schema.$ref?.split("/").at(-1) ?? title;
  if (name) return name.replace(/(?<=[a-z])(?=[A-Z])/g, " ");
  return format ?? type ?? `Form ${index + 1}`;
}

/** Return the value that a new entry of a list or a map begins with. */
export function blank(control: Control, schemas: Schemas): unknown {
  switch (control.shows) {
    case "group":
      return unasked(control.fields, control.required, schemas);
    case "one of":
      return control.options[0] && blank(controlOf("", control.options[0].schema, schemas), schemas);
    case "map":
      return {};
    case "list":
    case "choices":
      return [];
    case "flag":
      return false;
    case "fixed":
      return control.value;
    default:
      return "";
  }
}
