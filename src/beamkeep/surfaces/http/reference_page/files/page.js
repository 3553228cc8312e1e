// The list of operations by context and noun, and the search.

import { make, text } from "./elements.js";
import { row } from "./operation.js";
import { reader } from "./schema.js";

const GENERAL = "general";
const list = document.getElementById("list");
const found = document.getElementById("found");
const search = document.getElementById("search");

async function load(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address} answered ${answer.status}.`);
  return answer.json();
}

/** Return every operation by name, from the OpenAPI document and the examples. */
function operationsOf(api, examples, { resolved }) {
  const contexts = new Map(api["x-tagGroups"].flatMap(
    group => group.tags.map(tag => [tag, group.name])));
  const operations = new Map();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, described] of Object.entries(methods)) {
      const name = described.operationId;
      const { words, ...example } = examples[name] ?? {};
      const general = words && !words.includes(" ");
      const [tag] = described.tags;
      operations.set(name, {
        name, path, words, method: method.toUpperCase(), summary: described.summary,
        context: general ? GENERAL : contexts.get(tag), noun: general ? GENERAL : tag,
        example: example.url ? { ...example, method: method.toUpperCase() } : undefined,
        parameters: (described.parameters ?? []).map(resolved),
        bodySchema: described.requestBody?.content["application/json"].schema,
        responses: described.responses,
      });
    }
  }
  return operations;
}

/** Return the operations of each noun of each context; the general ones come first. */
function grouped(api, operations) {
  const groups = new Map([[GENERAL, new Map([[GENERAL, []]])]]);
  for (const { name, tags } of api["x-tagGroups"]) {
    groups.set(name, new Map(tags.map(tag => [tag, []])));
  }
  for (const operation of operations.values()) {
    groups.get(operation.context).get(operation.noun).push(operation);
  }
  return groups;
}

function sections(groups, schemas) {
  return [...groups].map(([context, nouns]) => make("section", {}, text("h2", context),
    ...[...nouns].flatMap(([noun, operations]) => [
      context === GENERAL ? "" : make("h3", { textContent: noun, id: `noun-${noun}` }),
      ...operations.map(operation => row(operation, schemas)),
    ])));
}

function contents(groups) {
  return [...groups].flatMap(([context, nouns]) => context === GENERAL ? [] : [
    text("h2", context),
    make("ul", {}, ...[...nouns].map(([noun, operations]) => make("li", {},
      make("a", { href: `#noun-${noun}` }, noun, text("span", `${operations.length}`))))),
  ]);
}

function opened(name) {
  const wanted = document.getElementById(name);
  if (wanted?.matches("details")) wanted.open = true;
  wanted?.scrollIntoView();
}

async function start() {
  const [api, examples] = await Promise.all([load("openapi.json"), load("docs/examples.json")]);
  const schemas = reader(api);
  const operations = operationsOf(api, examples, schemas);
  const groups = grouped(api, operations);
  let asked = 0;

  async function show() {
    const words = search.value.trim();
    const turn = ++asked;
    if (!words) {
      list.replaceChildren(...sections(groups, schemas));
      found.textContent = `${operations.size} operations and questions`;
      return;
    }
    const { operations: names } = await load(`docs/search?words=${encodeURIComponent(words)}`);
    if (turn !== asked) return; // A later search has been typed meanwhile.
    const fitting = names.filter(name => operations.has(name));
    list.replaceChildren(...fitting.map(name => row(operations.get(name), schemas)));
    found.textContent = fitting.length
      ? `Best matches for «${words}», the best first`
      : `No operation fits «${words}».`;
  }

  document.getElementById("version").textContent = api.info.version;
  const nav = document.getElementById("contexts");
  nav.replaceChildren(...contents(groups));
  nav.addEventListener("click", () => {
    if (!search.value) return;
    search.value = "";
    show();
  });
  search.addEventListener("input", show);
  await show();
  opened(decodeURIComponent(location.hash.slice(1)));
  addEventListener("hashchange", () => opened(decodeURIComponent(location.hash.slice(1))));
}

document.addEventListener("keydown", event => {
  if (event.key === "/" && !event.target.matches("input, textarea, select")) {
    event.preventDefault();
    search.focus();
  }
  if (event.key === "Escape" && event.target === search && search.value) {
    search.value = "";
    search.dispatchEvent(new Event("input"));
  }
});
start().catch(error => { found.textContent = `The page could not be loaded: ${error.message}`; });
