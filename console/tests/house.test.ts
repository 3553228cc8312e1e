// @vitest-environment node
/** How the files of the console may depend on each other, how long they may be, and what they return. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import ts from "typescript";
import { expect, test } from "vitest";

const SOURCE = new URL("../src/", import.meta.url);
const MOST_LINES = 300;
/** From top to bottom: a folder imports from the rows below its own. */
const LAYERS = [["app"], ["features"], ["actions"], ["ui"], ["auth", "feed", "text", "view"], ["api"], ["time"]];
/** What the components of `ui` take of the layer that reads and writes: types, and the answers of the service. */
const SHOWN = ["api/catalogue.d.json.ts", "api/problems.ts", "api/types.ts"];

const names = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));
const written = names.filter((name) => !["api/schema.d.ts", "api/names.d.ts"].includes(name));
const texts = new Map(written.map((name) => [name, readFileSync(new URL(name, SOURCE), "utf8")]));
const imports = new Map([...texts].map(([name, text]) => [name, importsOf(name, text)]));
const folderOf = (name: string) => dirname(name).split("/")[0] ?? "";
const featureOf = (name: string) => name.split("/")[1];

function importsOf(name: string, text: string): string[] {
  return ts
    .preProcessFile(text)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((to) => to.startsWith(".") && !to.endsWith(".css"))
    .map((to) => {
      const path = join(dirname(name), to);
      const files = [`${path}.ts`, `${path}.tsx`, `${path}.d.ts`, `${path}/index.ts`, `${path}/index.tsx`, path.replace(/\.json$/, ".d.json.ts")];
      const found = files.find((file) => names.includes(file));
      if (!found) throw new Error(`${name} imports ${to}, which is no file of the console`);
      return found;
    });
}

function crossing(isAllowed: (from: string, to: string) => boolean): string[] {
  return [...imports].flatMap(([from, all]) => all.filter((to) => !isAllowed(from, to)).map((to) => `${from} imports ${to}`));
}

test("no file imports itself through others", () => {
  // A set is walked in the order in which it grows, so what is added is walked too.
  const behind = (name: string) => {
    const reached = new Set(imports.get(name));
    for (const each of reached) for (const next of imports.get(each) ?? []) reached.add(next);
    return reached;
  };
  expect(written.filter((name) => behind(name).has(name))).toEqual([]);
});

test("every folder imports only from the layers below it", () => {
  const layerOf = (name: string) => LAYERS.findIndex((folders) => folders.includes(folderOf(name)));
  expect(new Set(names.map(folderOf))).toEqual(new Set(LAYERS.flat()));
  expect(crossing((from, to) => folderOf(from) === folderOf(to) || layerOf(from) < layerOf(to))).toEqual([]);
});

test("a feature imports no other feature", () => {
  const isFeature = (name: string) => folderOf(name) === "features";
  expect(crossing((from, to) => !isFeature(from) || !isFeature(to) || featureOf(from) === featureOf(to))).toEqual([]);
});

test("the components of ui read nothing", () => {
  expect(crossing((from, to) => folderOf(from) !== "ui" || folderOf(to) !== "api" || SHOWN.includes(to))).toEqual([]);
});

test(`no file has more than ${MOST_LINES} lines`, () => {
  const long = [...texts].map(([name, text]) => [name, text.split("\n").length - 1] as const).filter(([, lines]) => lines > MOST_LINES);
  expect(long).toEqual([]);
});

test("hooks return values: no hook makes an element", () => {
  const making: string[] = [];
  const withHooks = [...texts].filter(([name, text]) => name.endsWith(".tsx") && text.includes("function use"));
  for (const [name, text] of withHooks) {
    const visit = (node: ts.Node, hook: string | undefined): void => {
      const own = ts.isFunctionDeclaration(node) && /^use[A-Z]/.test(node.name?.text ?? "") ? node.name?.text : hook;
      if (own && (ts.isJsxOpeningLikeElement(node) || ts.isJsxFragment(node))) making.push(`${name}: ${own}`);
      ts.forEachChild(node, (child) => visit(child, own));
    };
    visit(ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true), undefined);
  }
  expect(making).toEqual([]);
});
