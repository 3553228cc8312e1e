import { OperationButton } from "../../actions";
import { namesIn, useRead } from "../../api";
import { fieldLabel, stateText } from "../../text";
import { Icon, Loaded, ObjectName, Pair, Panel, Timestamp } from "../../ui";
import { Reasoning } from "./Reasoning";
import { decisionTitle, ShownValue } from "./words";

/** Ids are never shown; a text that contains one has no words for people. */
const hasIdInside = (value: unknown) => typeof value === "string" && value.length > 36 && /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.test(value);
const isMoment = (value: unknown): value is string => typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value);

/** Show one decision with its reasons, and let a person rate it. */
export function DecisionDetail({ id }: { id: string }) {
  const read = useRead("get_decision", { decision_id: id });
  const agents = useRead("list_agents", { limit: 100 });
  const decision = read.data;
  const isAgent = agents.data?.items.some((agent) => agent.agent_id === decision?.actor_id) ?? false;
  return (
    <Panel
      title={decision ? decisionTitle(decision) : "Decision"}
      className="proposal"
      flush
      end={decision && <Timestamp at={decision.created_at} />}
      footer={
        decision && (
          <>
            <OperationButton operation="rate_decision" about={{ decision_id: id }} etag={read.etag} />
            {decision.context === "CautionProposal" && decision.promoted_caution_id === null && (
              // The command makes a caution, of which there is no version yet.
              <OperationButton operation="promote_caution_proposal" about={{ decision_id: id }} look="main">
                Register the caution
              </OperationButton>
            )}
          </>
        )
      }
    >
      <Loaded read={read} what="the decision" operation="get_decision">
        {(shown) => (
          <>
            <div className="sec">
              <p className="dim">
                By <ObjectName id={shown.actor_id} names={namesIn(shown)} plain />
                {shown.rule && ` · rule ${shown.rule}`}
                {shown.override_kind && ` · ${stateText(shown.override_kind)}`}
              </p>
              {shown.parent_id && (
                <p className="dim sm">
                  Follows <ObjectName id={shown.parent_id} names={namesIn(shown)} kind="Decision" plain />
                </p>
              )}
              {shown.promoted_caution_id && (
                <p className="dim sm">
                  Registered as caution <ObjectName id={shown.promoted_caution_id} names={namesIn(shown)} kind="Caution" plain />
                </p>
              )}
            </div>
            <Reasoning decision={shown} isAgent={isAgent} />
            {shown.inputs && Object.keys(shown.inputs).length > 0 && (
              <div className="sec">
                <h3>
                  <Icon name="list" />
                  Inputs
                </h3>
                <dl className="kv">
                  {Object.entries(shown.inputs)
                    .filter(([, value]) => !hasIdInside(value))
                    .map(([name, value]) => (
                      <Pair key={name} label={fieldLabel(name)}>
                        {isMoment(value) ? <Timestamp at={value} /> : <ShownValue value={value} names={namesIn(shown)} />}
                      </Pair>
                    ))}
                </dl>
              </div>
            )}
            {Object.keys(shown.ratings).length > 0 && (
              <div className="sec">
                <h3>Ratings</h3>
                <ul className="plain-list">
                  {Object.entries(shown.ratings).map(([actor, { rating, comment }]) => (
                    <li key={actor}>
                      <ObjectName id={actor} names={namesIn(shown)} plain />
                      <span className="dim">
                        {rating}
                        {comment && `: ${comment}`}
                      </span>
                    </li>
                  ))}
                </ul>
              </div>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  );
}
