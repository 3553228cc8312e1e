// Writes what the console knows of the service: types, routes, the catalogue and the words of events.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import { described } from "../src/api/describing.js";

const REFERENCE = new URL("../../docs/reference/", import.meta.url);
const API = new URL("../src/api/", import.meta.url);
const document = JSON.parse(await readFile(new URL("openapi.json", REFERENCE), "utf8"));
const { events, rows } = JSON.parse(await readFile(new URL("events.json", REFERENCE), "utf8"));
const { schemas } = document.components;
const { routes, operations, schemas: used } = described(document);

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
