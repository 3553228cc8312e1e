// «Try it»: a form that sends one call with the reader's own token, and shows both sides of it.

import { json, make, text } from "./elements.js";

const HIDDEN = new Set(["Idempotency-Key", "X-Correlation-Id"]);
const SHOWN_HEADERS = ["etag", "location", "position-token", "retry-after", "x-correlation-id"];

/** Return the form of an operation. */
export function tryIt(operation, schemas) {
  const writes = operation.method !== "GET";
  const fields = operation.parameters
    .filter(each => !HIDDEN.has(each.name) && each.name !== "dry_run")
    .map(each => field(operation, each, schemas));
  const first = fields.filter(each => each.parameter.in === "path" || each.parameter.required);
  const others = fields.filter(each => !first.includes(each));
  const body = operation.bodySchema && make("textarea", {
    id: `${operation.name}-body`, spellcheck: false, rows: 8,
    value: json(operation.example?.body ?? {}),
  });
  const dryRun = writes && make("input", { type: "checkbox", id: `${operation.name}-dry`, checked: true });
  const send = make("button", { type: "submit", textContent: "Send" });
  const shown = make("div", { "aria-live": "polite" });
  const form = make("form", { noValidate: true, "aria-label": `Call ${operation.name}` },
    ...first.map(each => each.row),
    ...(body ? [labelled("Body", body), hint(operation)] : []),
    others.length ? make("details", {}, text("summary", more(others)), ...others.map(each => each.row)) : null,
    dryRun ? make("div", { className: "check" }, dryRun, make("label", {
      htmlFor: dryRun.id, textContent: "Dry run: check the command and write nothing" })) : null,
    send, shown);
  form.addEventListener("submit", async event => {
    event.preventDefault();
    send.disabled = true;
    try {
      const request = requestOf(operation, fields, body?.value, dryRun && dryRun.checked);
      shown.replaceChildren(text("h4", "Request, as it was sent"), pre(requestText(request)));
      shown.append(...await answered(request));
    } catch (error) {
      shown.append(text("p", error.message, "status refused"));
    } finally {
      send.disabled = false;
    }
  });
  return [text("h4", "Try it"), form];
}

function more(fields) {
  const filters = fields.filter(each => each.parameter.in === "query").length;
  return filters ? `${filters} optional parameters, and headers` : "Headers";
}

function hint(operation) {
  return operation.example ? text("small", "The example's ids are not those of this service: replace them.") : null;
}

function field(operation, parameter, { resolved, typeOf }) {
  const schema = resolved(parameter.schema) ?? {};
  const values = schema.type === "boolean" ? ["true", "false"] : schema.enum;
  const id = `${operation.name}-${parameter.name}`;
  const input = values
    ? make("select", { id }, ...["", ...values].map(value => make("option", { value, textContent: value })))
    : make("input", { id, autocomplete: "off", placeholder: schema.format ?? "", title: typeOf(schema) });
  input.required = Boolean(parameter.required);
  return { parameter, input, row: labelled(parameter.name, input, parameter.required) };
}

function labelled(name, input, required = false) {
  const label = make("label", { htmlFor: input.id, textContent: name });
  if (required) label.append(text("small", "required"));
  if (input.tagName === "TEXTAREA") return make("div", {}, label, input);
  return make("div", { className: "row" }, label, input);
}

/** A UUID that also works where the page is not served over TLS, as randomUUID does not. */
function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map(
    byte => byte.toString(16).padStart(2, "0")).join("");
}

function requestOf(operation, fields, body, dryRun) {
  let path = operation.path;
  const query = new URLSearchParams();
  const headers = new Headers();
  for (const { parameter, input } of fields) {
    const value = input.value.trim();
    if (!value && parameter.required) throw new Error(`Fill in ${parameter.name}.`);
    if (!value) continue;
    if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (parameter.in === "header") headers.set(parameter.name, value);
    else for (const each of parameter.schema.type === "array" ? value.split(",") : [value]) {
      query.append(parameter.name, each.trim());
    }
  }
  if (dryRun) query.set("dry_run", "true");
  const url = new URL(path.slice(1) + (query.size ? `?${query}` : ""), document.baseURI);
  const token = document.getElementById("token").value.trim();
  if (token) headers.set("Authorization", `Bearer ${token}`);
  if (operation.method !== "GET") headers.set("Idempotency-Key", newKey());
  if (body !== undefined) headers.set("Content-Type", "application/json");
  return { method: operation.method, url, headers, body };
}

function requestText({ method, url, headers, body }) {
  const lines = [...headers].map(([name, value]) =>
    `${name}: ${name === "authorization" ? "Bearer (your token)" : value}`);
  return [`${method} ${url.pathname}${url.search}`, ...lines, ...(body ? ["", body] : [])].join("\n");
}

async function answered({ method, url, headers, body }) {
  const since = performance.now();
  const answer = await fetch(url, { method, headers, body, cache: "no-store", credentials: "omit" });
  const words = await answer.text();
  const took = Math.round(performance.now() - since);
  const present = SHOWN_HEADERS.filter(name => answer.headers.has(name));
  const lines = present.map(name => `${name}: ${answer.headers.get(name)}`);
  return [
    text("p", `${answer.status} ${answer.statusText} · ${took} ms`, answer.ok ? "status" : "status refused"),
    pre([...lines, ...(words ? ["", pretty(words)] : [])].join("\n")),
  ];
}

function pretty(words) {
  try {
    return json(JSON.parse(words));
  } catch {
    return words;
  }
}

const pre = words => make("pre", { textContent: words, tabIndex: 0 });
