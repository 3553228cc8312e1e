/** Styles stay loaded after their screen is left, so no feature may style what another one shows. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const SOURCES = join(import.meta.dirname, "../src");
const FEATURES = join(SOURCES, "features");

const textsOf = (folder: string, ending: string): string =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("\n");

const classesIn = (sources: string): Set<string> => {
  const texts = [...sources.matchAll(/className=(?:"([^"]*)"|\{([^}]*)\})/g)].map(
    ([, plain, computed]) => plain ?? [...(computed ?? "").matchAll(/["`]([^"`]*)["`]/g)].map(([, text]) => text).join(" "),
  );
  return new Set(texts.flatMap((text) => text.replace(/\$\{[^}]*/g, " ").match(/[\w-]+/g) ?? []));
};

/** The classes of the first part of each selector. */
const rootsIn = (styles: string): string[][] =>
  [
    ...styles
      .replace(/\/\*.*?\*\//gs, "")
      .replace(/@media[^{]*\{/g, "")
      .matchAll(/([^{}]+)\{/g),
  ]
    .flatMap(([, selectors]) => (selectors ?? "").split(/,(?![^(]*\))/))
    .map((selector) => selector.trim().split(/[\s>+~]/)[0] ?? "")
    .map((root) => (root.match(/\.[\w-]+/g) ?? []).map((name) => name.slice(1)));

test.each(readdirSync(FEATURES))("the styles of %s begin with a class of its own", (feature) => {
  const others = readdirSync(FEATURES).filter((each) => each !== feature);
  const elsewhere = classesIn(others.map((each) => textsOf(join(FEATURES, each), ".tsx")).join("\n"));
  const roots = rootsIn(textsOf(join(FEATURES, feature), ".css"));
  expect(roots.filter((names) => names.length > 0 && names.every((name) => elsewhere.has(name)))).toEqual([]);
});
