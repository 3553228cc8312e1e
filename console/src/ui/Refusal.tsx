import type { ReactNode } from "react";
import type { Fact, Problem } from "../api/problems";
import { abnormalFacts } from "../text/facts";
import { operationTitle } from "../text/operations";
import { useZone } from "../time/zone";
import { Callout } from "./Callout";
import { FactRow } from "./FactRow";
import { Icon } from "./Icon";

export interface AlsoFailing {
  name: string;
  facts: readonly Fact[];
  clearedBy: readonly string[];
}

interface Props {
  problem: Problem;
  at?: number;
  isDryRun?: boolean;
  /** The sentence that is shown (default: that of the problem). */
  sentence?: string;
  /** The operations that clear a fact (default: all that the service names). */
  ways?: (fact: Fact) => readonly string[];
  /** The buttons that clear a fact, made from the operations that the service names. */
  remedies?: (operations: readonly string[], fact: Fact | undefined) => ReactNode;
  /** Other checks that fail. */
  also?: readonly AlsoFailing[];
}

/** The service tells an id after each name; ids are not shown. */
const ID = / \([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\)/g;

/** Show why a command was refused: the sentence, the facts, and what clears them. */
export function Refusal({ problem, at, isDryRun = false, sentence: given = problem.message, ways = () => problem.clearedBy, remedies, also = [] }: Props) {
  const zone = useZone();
  const facts = abnormalFacts(problem.facts);
  const { title } = problem.body;
  const sentence = given.replace(ID, "");
  const rest = title && sentence.startsWith(title) ? sentence.slice(title.length).trim() : sentence;
  if (problem.facts.length === 0 && problem.clearedBy.length === 0 && also.length === 0)
    return (
      <div role="alert">
        <Callout mark="blocks" title={title ?? problem.message} end={<code>{problem.code}</code>}>
          {rest !== title && rest}
        </Callout>
      </div>
    );
  const when = at === undefined ? "" : isDryRun ? `Dry run ${zone.time(at)}. ` : `${zone.time(at)}. `;
  return (
    <div className="ref" role="alert">
      <div className="head">
        <h3>
          <Icon name="blocks" />
          {title ?? problem.message}
        </h3>
        {rest !== title && rest && <p className="sm">{rest}</p>}
        <p className="sm dim">
          {when}Nothing written. <code>{problem.code}</code> {problem.status}
        </p>
      </div>
      {facts.map((fact, index) => {
        const operations = ways(fact);
        return (
          <FactRow
            key={fact.id ?? index}
            fact={fact}
            note={operations.length > 0 ? `Cleared by: ${operations.map(lower).join(", ")}.` : undefined}
            actions={remedies?.(operations, fact)}
          />
        );
      })}
      {problem.facts.length === 0 && problem.clearedBy.length > 0 && (
        <div className="fact">
          <Icon name="info" />
          <span>Cleared by: {problem.clearedBy.map(lower).join(", ")}.</span>
          <span className="row">{remedies?.(problem.clearedBy, undefined)}</span>
        </div>
      )}
      {also.flatMap(({ name, facts, clearedBy }) =>
        facts.map((fact, index) => (
          <FactRow
            key={`${name} ${fact.id ?? index}`}
            fact={fact}
            lead="Also failing:"
            note={clearedBy.length === 0 ? "Only a report from the equipment can clear this." : undefined}
            actions={remedies?.(clearedBy, fact)}
          />
        )),
      )}
    </div>
  );
}

const lower = (operation: string) => {
  const title = operationTitle(operation);
  return title.charAt(0).toLowerCase() + title.slice(1);
};
