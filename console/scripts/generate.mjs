// Writes what the console knows of the service: types, routes, the catalogue and the words of events.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const REFERENCE = new URL("../../docs/reference/", import.meta.url);
const API = new URL("../src/api/", import.meta.url);
const document = JSON.parse(await readFile(new URL("openapi.json", REFERENCE), "utf8"));
const { events, rows } = JSON.parse(await readFile(new URL("events.json", REFERENCE), "utf8"));
const CLIENT = new URL("../../client/src/beamkeep_client/catalogue.json", import.meta.url);
const verbs = new Map(JSON.parse(await readFile(CLIENT, "utf8")).map(({ name, noun, verb }) => [name, [noun, verb].filter(Boolean).join(" ")]));
const { parameters: shared, schemas } = document.components;

/** Return the parameters of an operation that are not headers, with shared ones in place. */
function parametersOf(described) {
  return described.parameters.map((each) => (each.$ref ? shared[each.$ref.split("/").at(-1)] : each)).filter((each) => each.in !== "header" && each.name !== "dry_run");
}

const routes = {};
const operations = {};
for (const [path, methods] of Object.entries(document.paths)) {
  for (const [method, described] of Object.entries(methods)) {
    const name = described.operationId;
    const isCommand = method !== "get";
    const own = parametersOf(described);
    const takes = new Set(own.map((each) => each.name));
    const extension = described["x-beamkeep"] ?? {};
    const aggregate = extension.aggregate ?? described.tags[0];
    const route = { title: extension.title ?? described.summary, method: method.toUpperCase(), path, aggregate };
    for (const flag of ["names", "as_of", "min_token"]) if (takes.has(flag)) route[flag] = true;
    if (extension.moves?.length) route.moves = extension.moves;
    if (extension.destructive) route.destructive = true;
    if (extension.composed_of) route.composed_of = extension.composed_of;
    const asked = Object.keys(described.requestBody?.content["application/json"].schema.properties ?? {});
    if (isCommand && asked.every((field) => field === "decided_by_decision_id")) route.bare = true;
    routes[name] = route;
    const body = described.requestBody?.content["application/json"].schema;
    const fields = {};
    for (const { name: field, schema, description } of own) fields[field] = description ? { ...schema, description } : schema;
    Object.assign(fields, body?.properties);
    operations[name] = {
      method: route.method,
      path,
      aggregate,
      isCommand,
      summary: described.summary,
      commandLine: verbs.get(name) ?? "",
      fields,
      required: [...own.filter((each) => each.required).map((each) => each.name), ...(body?.required ?? [])],
      ...(described.parameters.some((each) => each.$ref?.endsWith("/ProposalNote")) && { proposable: true }),
    };
  }
}

/** Return the names of the schemas that a value refers to, directly or through others. */
function named(value, found = new Set()) {
  if (Array.isArray(value)) for (const each of value) named(each, found);
  else if (value && typeof value === "object") {
    const name = typeof value.$ref === "string" ? value.$ref.split("/").at(-1) : undefined;
    if (name && !found.has(name)) named(schemas[name], found.add(name));
    for (const each of Object.values(value)) named(each, found);
  }
  return found;
}

const used = Object.fromEntries([...named(operations)].sort().map((name) => [name, schemas[name]]));
const union = (names) => names.map((name) => `\n  | ${JSON.stringify(name)}`).join("");
const enums = Object.entries(schemas).filter(([, schema]) => schema.enum && schema.type === "string");
const names = `import type { operations } from "./schema";

export type OperationName = keyof operations;
export type CommandName =${union(Object.keys(operations).filter((name) => operations[name].isCommand))};
export type QueryName = Exclude<OperationName, CommandName>;
export type StreamType =${union(Object.keys(events))};
export type EventName =${union(Object.values(events).flatMap((each) => Object.keys(each)))};
export type RowTable =${union(Object.keys(rows))};
/** The values of every field that takes one of a few words, by the name of its schema. */
export interface Words {${enums.map(([name, { enum: words }]) => `\n  ${name}: ${words.map((word) => JSON.stringify(word)).join(" | ")};`).join("")}
}
`;
const write = (name, text) => writeFile(new URL(name, API), text);
await write("schema.d.ts", astToString(await openapiTS(document)));
await write("names.d.ts", names);
await write("routes.json", JSON.stringify(routes));
await write("said.json", JSON.stringify(Object.assign({}, ...Object.values(events))));
await write("catalogue.json", JSON.stringify({ operations, schemas: used }));
