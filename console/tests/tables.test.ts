/** The tables of the console cover everything that the service has. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { affectedBy, isAboutOther, ROWS } from "../src/api/invalidation";
import { ASKED } from "../src/actions/asking";
import { isFinal } from "../src/actions/moves";
import type { CommandName, StreamType } from "../src/api/names";
import { ENDINGS } from "../src/text/endings";
import { eventText } from "../src/text/events";
import { operationOn, operationTitle } from "../src/text/operations";
import { NAMES, STATE_SCHEMA, STATES, stateText } from "../src/text/states";

const reference = (name: string): unknown => JSON.parse(readFileSync(`../docs/reference/${name}`, "utf8"));
const { events, rows } = reference("events.json") as {
  events: Record<string, Record<string, { text: string }>>;
  rows: Record<string, { stream: string; read: string }>;
};
interface Described {
  operationId: string;
  tags: string[];
  "x-beamkeep"?: { destructive?: boolean };
  requestBody?: { content: { "application/json": { schema: { properties?: Record<string, unknown> } } } };
  responses: Record<string, { description?: string }>;
}
const openapi = reference("openapi.json") as {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, { enum?: string[]; type?: string }> };
};
const operations = Object.values(openapi.paths).flatMap((methods) => Object.values(methods));
const names = operations.map(({ operationId }) => operationId);

describe("the invalidation table", () => {
  test("makes outdated what is composed of a stream, and nothing else", () => {
    expect(affectedBy("Proposal")).toContain("get_board");
    expect(affectedBy("Clearance")).toContain("get_plan_readiness");
    expect(affectedBy("Attestation")).toContain("list_distributions");
    expect(affectedBy("Zone")).toEqual(new Set(["get_zone", "get_zone_history", "list_zones"]));
  });

  test("has every table of rows, with the read that lists them", () => {
    expect(Object.keys(ROWS).sort()).toEqual(Object.keys(rows).sort());
    for (const [table, { read }] of Object.entries(rows)) expect((ROWS as Record<string, string[]>)[table], table).toContain(read);
  });

  test("makes the object, its history and its list outdated by the events of a stream", () => {
    for (const stream of Object.keys(events)) {
      const gets = operations.filter(({ operationId, tags }) => tags[0] === stream && /^get_\w+_history$/.test(operationId));
      const affected = affectedBy(stream as StreamType);
      for (const { operationId } of gets) {
        expect(affected, stream).toContain(operationId);
        expect(affected, stream).toContain(operationId.replace(/_history$/, ""));
      }
    }
  });

  test("names only reads that exist", () => {
    for (const read of Object.values(ROWS).flat()) expect(names).toContain(read);
  });

  test("leaves another run as it is", () => {
    expect(isAboutOther("get_run", { run_id: "a" }, "Run", "b")).toBe(true);
    expect(isAboutOther("get_run", { run_id: "a" }, "Run", "a")).toBe(false);
    expect(isAboutOther("list_runs", {}, "Run", "b")).toBe(false);
    expect(isAboutOther("get_board", { asset_id: "a" }, "Run", "b")).toBe(false);
  });
});

describe("the texts", () => {
  test("are those that the service declares", () => {
    expect(eventText("beamkeep.PolicyGrantAdded")).toEqual({ text: "grant added", mark: "normal", isAbnormal: false });
    expect(operationTitle("add_asset_family")).toBe("Add a family to an asset");
  });

  test("give an event the shape of the state that it leads to, and say which events are abnormal", () => {
    expect(eventText("beamkeep.RunHeld")).toEqual({ text: "held", mark: "held", isAbnormal: true });
    expect(eventText("beamkeep.PermitRevoked").mark).toBe("denied");
    expect(eventText("beamkeep.ClearanceRejected")).toMatchObject({ mark: "blocks", isAbnormal: true });
    expect(eventText("beamkeep.ProcedureIterationEnded")).toMatchObject({ mark: "done", isAbnormal: false });
  });

  test("name an event of a later version by its words", () => {
    expect(eventText("beamkeep.VisitForeseen").text).toBe("visit foreseen");
  });

  test("have every word of every state", () => {
    const schemas = Object.entries(openapi.components.schemas).filter(([name, schema]) => schema.enum && STATE_SCHEMA.test(name));
    expect(Object.keys(STATES).sort()).toEqual(schemas.map(([name]) => name).sort());
    for (const [name, schema] of schemas) expect(Object.keys((STATES as Record<string, object>)[name] ?? {}).sort(), name).toEqual([...(schema.enum ?? [])].sort());
  });

  test("name the object of an action", () => {
    expect(operationOn("hold_run", "Run 1")).toBe("Hold Run 1");
    expect(operationOn("mark_supply_recovering", "Ring beam")).toBe("Mark Ring beam recovering");
    expect(operationOn("append_run_logbook_entry", "Run 1")).toBe("Write a note in the logbook of Run 1");
  });

  test("say what a permit was reported to be", () => {
    expect(eventText("beamkeep.EnclosurePermitObserved", { status: "NotPermitted" }).mark).toBe("blocks");
  });
});

describe("what a command that ends something does", () => {
  /** Commands that end nothing by a transition and cannot be taken back all the same, or only for a while. */
  const OTHERS = ["discard_distribution", "forget_actor", "mint_edition_external_id"];

  test("is stated for every such command", () => {
    const final = names.filter((name) => operations.find(({ operationId }) => operationId === name)?.["x-beamkeep"] && isFinal(name as CommandName));
    expect(Object.keys(ENDINGS).sort()).toEqual([...final, ...OTHERS].sort());
  });

  test("is stated for each in its own words, in full sentences", () => {
    const texts = Object.values(ENDINGS).map(({ does }) => does);
    for (const does of texts) expect(does).toMatch(/^[A-Z].*\.$/);
    const bySubject = (part: string) => texts.filter((does) => does.includes(part));
    expect(new Set(texts).size).toBe(texts.length);
    expect(bySubject("Recorded data are kept")).toEqual([]);
  });

  test("promises no data where copies may be deleted or a person is erased", () => {
    expect(ENDINGS.discard_dataset?.does).toContain("its data may be lost");
    expect(ENDINGS.discard_distribution).toMatchObject({ isForGood: false });
    expect(ENDINGS.discard_distribution?.does).toContain("restored until its bytes are deleted");
    expect(ENDINGS.forget_actor?.does).toContain("are erased");
  });
});

describe("what a refusal asks for", () => {
  test("is a field of every command that is refused so", () => {
    for (const [code, asked] of Object.entries(ASKED)) {
      const refused = operations.filter(({ responses }) => responses["409"]?.description?.includes(code));
      expect(refused.length, code).toBeGreaterThan(0);
      for (const { requestBody } of refused) expect(Object.keys(requestBody?.content["application/json"].schema.properties ?? {}), code).toContain(asked?.field);
    }
  });
});

describe("the table of names", () => {
  const words = new Set(Object.values(openapi.components.schemas).flatMap((schema) => schema.enum ?? []));
  const PLAIN = new Set(["METHOD", "PROCEDURE"]);

  test("has every word that is written with several capitals or with digits, and only words of the service", () => {
    const special = [...words].filter((word) => /[A-Z]{2}|\d/.test(word) && !PLAIN.has(word));
    expect(special.filter((word) => !NAMES[word])).toEqual([]);
    expect(Object.keys(NAMES).filter((word) => !words.has(word))).toEqual([]);
  });

  test("says how a word is written, and leaves other words to the rule", () => {
    expect(["NFS", "sha256", "OAI_PMH", "METHOD", "InProgress"].map(stateText)).toEqual(["NFS", "SHA-256", "OAI-PMH", "Method", "In progress"]);
  });
});
