import { namesIn, routes, useRead } from "../../api";
import { operationTitle, plural } from "../../text";
import { EmptyState, Icon, KIND_ICONS, Loaded, ObjectName, StateMark, Timestamp } from "../../ui";

/** Show what an agent had been answered before a decision, and whether the same reads answer the same now. */
export function Evidence({ decisionId }: { decisionId: string }) {
  const read = useRead("list_decision_evidence", { decision_id: decisionId, limit: 50 });
  const verified = useRead("verify_decision_evidence", { decision_id: decisionId, limit: 50 });
  const verdicts = new Map(verified.data?.items.map((each) => [each.evidence_id, each.verdict]));
  const same = [...verdicts.values()].filter((verdict) => verdict === "same").length;
  return (
    <div className="sec">
      <h3>
        <Icon name="search" />
        Evidence: what the agent had read
        {verified.data && verdicts.size > 0 && (
          <span className="end">
            {same} of {verdicts.size} verified
          </span>
        )}
      </h3>
      <Loaded read={read} what="evidence" operation="list_decision_evidence">
        {(evidence) =>
          evidence.items.length === 0 ? (
            <EmptyState>No read of the agent is recorded before this decision.</EmptyState>
          ) : (
            <table aria-label="Evidence">
              <tbody>
                {evidence.items.map((each) => {
                  const verdict = verdicts.get(each.evidence_id);
                  const [first] = each.seen;
                  return (
                    <tr key={each.evidence_id}>
                      <td>
                        <span className="row">
                          <Icon name={KIND_ICONS[first?.stream_type ?? ""] ?? "search"} className="faint" />
                          {each.question in routes ? operationTitle(each.question) : "Its own reading"}
                        </span>
                      </td>
                      <td className="dim">
                        {first && each.seen.length === 1 ? (
                          <>
                            <ObjectName id={first.stream_id} names={namesIn(evidence)} kind={first.stream_type} plain /> version {first.version}
                          </>
                        ) : (
                          plural(each.seen.length + each.hidden, "object")
                        )}
                      </td>
                      <td>{verdict && <StateMark state={verdict} schema="EvidenceVerdict" />}</td>
                      <td className="r dim">
                        <Timestamp at={each.asked_at} />
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          )
        }
      </Loaded>
    </div>
  );
}
