// One operation: its example, a form that calls it, and everything that it takes and answers.

import { json, make, text } from "./elements.js";
import { tryIt } from "./calling.js";

/** Return the row of an operation. Its content is made when the row is opened. */
export function row(operation, schemas) {
  const details = make("details", { className: "operation", id: operation.name },
    make("summary", {},
      text("span", operation.method, `method ${operation.method.toLowerCase()}`),
      text("span", operation.name, "name"),
      text("span", operation.summary, "summary")));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(content(operation, schemas));
  });
  return details;
}

function content(operation, schemas) {
  return make("div", { className: "content" },
    calls(operation),
    make("div", {}, ...example(operation)),
    make("div", {}, ...tryIt(operation, schemas)),
    make("div", { className: "wide" },
      ...parameters(operation, schemas), ...body(operation, schemas),
      answers(operation, schemas)));
}

function calls(operation) {
  const ways = [
    ["REST", `${operation.method} ${operation.path}`],
    ["Command line", operation.words && `beamkeep ${operation.words}`],
    ["Tool and permission", operation.name],
  ];
  return make("p", { className: "calls wide" }, ...ways.filter(([, call]) => call).map(
    ([way, call]) => make("span", {}, `${way} `, text("code", call))));
}

function example({ example }) {
  if (!example) return [];
  const request = [`${example.method} ${example.url}`];
  if (example.body) request.push(json(example.body));
  const answer = [`${example.status}`];
  if (example.answer !== undefined) answer.push(json(example.answer));
  return [
    text("h4", "Example"),
    make("pre", { textContent: request.join("\n\n"), tabIndex: 0, "aria-label": "Request" }),
    make("pre", { textContent: answer.join("\n\n"), tabIndex: 0, "aria-label": "Answer" }),
  ];
}

function table(rows) {
  return make("table", {}, make("tbody", {}, ...rows.map(
    cells => make("tr", {}, ...cells.map(cell => make("td", {}, cell ?? ""))))));
}

function parameters({ parameters }, { typeOf }) {
  if (!parameters.length) return [];
  const rows = parameters.map(each => [
    make("span", {}, text("code", each.name), each.required ? text("span", " *", "needed") : ""),
    each.in, text("code", typeOf(each.schema)), each.description,
  ]);
  return [text("h4", "Parameters (* is required)"), table(rows)];
}

function body({ bodySchema }, { typeOf }) {
  if (!bodySchema) return [];
  return [text("h4", "Body"), make("pre", { textContent: typeOf(bodySchema), tabIndex: 0 })];
}

function answers({ responses }, { resolved, typeOf }) {
  const rows = Object.entries(responses).map(([status, given]) => {
    const response = resolved(given);
    const words = make("div", {}, ...response.description.split("\n\n").map(
      line => text("div", line.replaceAll("`", ""))));
    const schema = response.content?.["application/json"]?.schema;
    if (schema) words.append(make("pre", { textContent: typeOf(schema), tabIndex: 0 }));
    return [text("code", status), words];
  });
  return make("details", { className: "answers" },
    text("summary", "Answers and refusals"), table(rows));
}
