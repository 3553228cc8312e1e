/** What a clearance is about, shown with every decision on it: hazards, coverage, period and author. */
import { namesIn, useRead, type Answer, type Names } from "../api";
import { fieldLabel, stateText } from "../text";
import { Loaded, ObjectName, Pair, StateMark, Timestamp } from "../ui";

type Clearance = Answer<"get_clearance">;
type Binding = Clearance["bindings"][number];

/** Return what a clearance covers by kind, in the order of the form: «Subject: Phantom, Fossil F-01». */
export function coverageOf(bindings: readonly Binding[], names: Names): { kind: string; covered: string[] }[] {
  const kinds = [...new Set(bindings.map(({ kind }) => kind))];
  return kinds.map((kind) => ({ kind, covered: bindings.filter((each) => each.kind === kind).map((each) => bindingText(each, names)) }));
}

function bindingText(binding: Binding, names: Names): string {
  if (binding.kind === "External") return `${fieldLabel(binding.scheme)} ${binding.value}`;
  const name = names[binding.id]?.name ?? `${binding.kind.toLowerCase()} (no access)`;
  return binding.kind === "Asset" ? `${name} with everything below it` : name;
}

export function ClearanceReview({ id }: { id: string }) {
  const read = useRead("get_clearance", { clearance_id: id }, { when: id !== "", current: true });
  const history = useRead("get_clearance_history", { clearance_id: id, limit: 100 }, { when: id !== "", current: true });
  if (id === "") return null;
  const author = history.data?.items.find(({ event_type }) => event_type === "ClearanceRegistered");
  return (
    <section className="review" aria-label="What the clearance is about">
      <Loaded read={read} what="the clearance" operation="get_clearance">
        {(clearance) => {
          const names = namesIn(clearance);
          return (
            <>
              <p className="row wrap">
                <b className="b">{clearance.title}</b> <span className="dim sm">{stateText(clearance.kind)}</span>
                <StateMark as="chip" state={clearance.status} schema="ClearanceStatus" />
              </p>
              <dl className="kv">
                <dt>Written by</dt>
                <dd>
                  {author ? (
                    <>
                      <ObjectName id={author.principal_id} names={namesIn(history.data)} kind="Actor" plain />, <Timestamp at={author.occurred_at} />
                    </>
                  ) : history.problem ? (
                    "not known: the history of this clearance could not be read"
                  ) : (
                    "…"
                  )}
                </dd>
                <dt>Risk</dt>
                <dd>{clearance.risk_band ? <StateMark state={clearance.risk_band} schema="RiskBand" /> : "not set"}</dd>
                <dt>Hazards</dt>
                <dd>
                  {clearance.hazards.length === 0 ? (
                    "none named"
                  ) : (
                    <ul aria-label="Hazards">
                      {clearance.hazards.map(({ scheme, code, mitigation }) => (
                        <li key={`${scheme} ${code}`}>
                          <b className="b">{code}</b> <span className="dim sm">{scheme}</span>
                          <div className={mitigation ? "dim" : "warn"}>{mitigation ?? "No measure is named."}</div>
                        </li>
                      ))}
                    </ul>
                  )}
                </dd>
                {coverageOf(clearance.bindings, names).map(({ kind, covered }) => (
                  <Pair key={kind} label={`Covers, ${kind.toLowerCase()}`}>
                    {covered.join(", ")}
                  </Pair>
                ))}
                <dt>Valid</dt>
                <dd>
                  {clearance.valid_from ? <Timestamp at={clearance.valid_from} /> : "from activation"} to{" "}
                  {clearance.valid_until ? <Timestamp at={clearance.valid_until} /> : "no end"}
                </dd>
                <dt>Reviews</dt>
                <dd>
                  {clearance.review_steps.length === 0
                    ? "none yet"
                    : clearance.review_steps.map(({ step_index, role, decision, decided_by, notes }) => (
                        <div key={step_index}>
                          {role}: {stateText(decision).toLowerCase()} by <ObjectName id={decided_by} names={names} kind="Actor" plain />
                          {notes && <span className="dim"> · {notes}</span>}
                        </div>
                      ))}
                </dd>
              </dl>
              {clearance.parent_id && (
                <p className="dim sm">
                  Amends <ObjectName id={clearance.parent_id} names={names} kind="Clearance" plain />, which it ends when it is activated.
                </p>
              )}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}
