/** What the palette finds for a text. */
import type { Catalogue, Described } from "../../api/catalogue.json";
import type { OperationName } from "../../api";
import type { Verdict } from "../../auth";
import { operationTitle } from "../../text";

export interface FoundOperation {
  name: OperationName;
  described: Described;
  title: string;
  verdict: Verdict;
}

const RANK: Record<Verdict, number> = { permitted: 0, unknown: 0, proposable: 1, denied: 2 };
const MOST = 40;

const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);

/** Return how well an operation fits the words: 0 when one of them is missing. */
export function fit(words: readonly string[], title: string, name: string, summary: string): number {
  const [inTitle, inName, inSummary] = [wordsOf(title), wordsOf(name), wordsOf(summary)];
  let total = 0;
  for (const word of words) {
    const begins = (each: string) => each.startsWith(word);
    if (inTitle[0] === word || inName[0] === word) total += 8;
    else if (inTitle.some(begins)) total += 5;
    else if (inName.some(begins)) total += 4;
    else if (inSummary.some(begins)) total += 1;
    else return 0;
  }
  // Among equals, the shorter title says it more exactly.
  return total + 1 / (1 + title.length);
}

/** Return the operations that fit a text, permitted ones first. */
export function findOperations(catalogue: Catalogue, text: string, verdictOf: (name: OperationName) => Verdict): FoundOperation[] {
  const words = wordsOf(text);
  if (words.length === 0) return [];
  return (Object.entries(catalogue.operations) as [OperationName, Described][])
    .map(([name, described]) => {
      const title = operationTitle(name);
      const score = fit(words, title, name, described.summary) + (described.isCommand ? 0.5 : 0);
      return { name, described, title, score, verdict: verdictOf(name) };
    })
    .filter(({ score }) => score >= 1)
    .sort((a, b) => RANK[a.verdict] - RANK[b.verdict] || b.score - a.score)
    .slice(0, MOST);
}
