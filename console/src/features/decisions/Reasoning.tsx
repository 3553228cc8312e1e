import { namesIn, useRead, type Answer } from "../../api";
import { Icon, Loaded, ObjectName } from "../../ui";
import { number } from "../../text";
import { Evidence } from "./Evidence";
import { decisionTitle } from "./words";

/** Show why a decision was made: the text, the confidence, the alternatives, the evidence and the calls of models. */
export function Reasoning({ decision, isAgent }: { decision: Answer<"get_decision">; isAgent: boolean }) {
  return (
    <>
      <div className="sec">
        <h3>
          <Icon name="note" />
          {isAgent ? "Reasoning (text from the agent)" : "Reasoning"}
          {decision.confidence !== null && ` · confidence ${decision.confidence}`}
          {decision.confidence_band && `, ${decision.confidence_band.toLowerCase()}`}
        </h3>
        {decision.reasoning ? <p className="said">{decision.reasoning}</p> : <p className="faint">No reasoning was recorded.</p>}
      </div>
      {decision.alternatives.length > 0 && (
        <div className="sec">
          <h3>
            <Icon name="more" />
            Alternatives
          </h3>
          <ul>
            {decision.alternatives.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </div>
      )}
      {isAgent && <Evidence decisionId={decision.decision_id} />}
      {isAgent && <Calls decisionId={decision.decision_id} />}
    </>
  );
}

/** Show the reasoning of the decision that a proposal rests on. */
export function ReasoningOf({ id, isAgent }: { id: string; isAgent: boolean }) {
  const read = useRead("get_decision", { decision_id: id });
  return (
    <Loaded read={read} what="the decision" operation="get_decision">
      {(decision) => (
        <>
          <div className="sec sm dim">
            Rests on the decision <ObjectName id={id} names={namesIn(decision)} kind="Decision" name={decisionTitle(decision)} plain />.
          </div>
          <Reasoning decision={decision} isAgent={isAgent} />
        </>
      )}
    </Loaded>
  );
}

/** Show what the calls of models of a decision used and cost. */
function Calls({ decisionId }: { decisionId: string }) {
  const { data } = useRead("list_decision_inferences", { decision_id: decisionId, limit: 100 });
  const items = data?.items ?? [];
  if (items.length === 0) return null;
  const sum = (part: (each: (typeof items)[number]) => number | null) => items.reduce((all, each) => all + (part(each) ?? 0), 0);
  return (
    <div className="sec sm dim">
      {number(items.length)} model or tool calls, {number(sum((each) => (each.input_tokens ?? 0) + (each.output_tokens ?? 0)))} tokens,{" "}
      {number(sum((each) => each.duration_ms) / 1000)} s, $ {sum((each) => each.cost_usd).toFixed(2)}
    </div>
  );
}
