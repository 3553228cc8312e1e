import { namesIn, routes, useRead } from "../../api";
import { useMe } from "../../auth";
import { operationTitle, stateText, type Mark } from "../../text";
import { Callout, EmptyState, Loaded, ObjectName, Panel } from "../../ui";

/** Who wants to call what, and at which surface. */
export interface Question {
  who: string;
  what: string;
  where: string;
}

const VERDICTS: Record<string, readonly [Mark, string]> = {
  Permit: ["normal", "Yes"],
  Propose: ["pending", "Only as a proposal that somebody else approves"],
  Deny: ["denied", "No"],
};

/** Ask whether somebody may call an operation at a surface, and by which policies. */
export function May({ asked, ask }: { asked: Question; ask: (question: Partial<Question>) => void }) {
  const me = useMe();
  const actors = useRead("list_actors", { limit: 100 });
  const surfaces = useRead("list_surfaces", { limit: 100 });
  const { who, what } = asked;
  const where = asked.where || me.data?.surface.surface_id;
  const surface = surfaces.data?.items.find(({ surface_id }) => surface_id === where);
  const isComplete = who !== "" && what in routes && surface !== undefined;
  const read = useRead(
    "evaluate_authorization",
    { principal_id: who, command_name: what, conduit_id: surface?.conduit_id ?? "", surface_id: surface?.surface_id ?? "" },
    { when: isComplete },
  );
  const person = actors.data?.items.find(({ actor_id }) => actor_id === who);
  return (
    <Panel title="May somebody do something here?">
      <div className="ask">
        <div className="field">
          <label htmlFor="may-who">Who</label>
          <select id="may-who" className="in" value={who} onChange={(event) => ask({ who: event.target.value })}>
            <option value="">Choose</option>
            {(actors.data?.items ?? []).map((each) => (
              <option key={each.actor_id} value={each.actor_id}>
                {each.name}
              </option>
            ))}
          </select>
        </div>
        <div className="field">
          <label htmlFor="may-what">Operation</label>
          <input id="may-what" className="in" list="may-operations" value={what} onChange={(event) => ask({ what: event.target.value.trim() })} />
          <datalist id="may-operations">
            {Object.keys(routes).map((name) => (
              <option key={name} value={name}>
                {operationTitle(name)}
              </option>
            ))}
          </datalist>
        </div>
        <div className="field">
          <label htmlFor="may-where">Surface</label>
          <select id="may-where" className="in" value={surface?.surface_id ?? ""} onChange={(event) => ask({ where: event.target.value })}>
            {(surfaces.data?.items ?? []).map((each) => (
              <option key={each.surface_id} value={each.surface_id}>
                {each.name}
              </option>
            ))}
          </select>
        </div>
      </div>
      {isComplete ? (
        <Loaded read={read} what="the permission" operation="evaluate_authorization">
          {(answer) => {
            const [mark, verdict] = VERDICTS[answer.decision] ?? (["info", answer.decision] as const);
            return (
              <Callout mark={mark} title={verdict} end={answer.reason_code ? stateText(answer.reason_code) : undefined}>
                <p>
                  {operationTitle(what)}, {person?.name ?? "this principal"}, on {surface.name}.
                </p>
                <p>
                  {answer.determining_policies.length > 0 ? (
                    <>
                      By{" "}
                      {answer.determining_policies.map((id, index) => (
                        <span key={id}>
                          {index > 0 && ", "}
                          <ObjectName id={id} names={namesIn(answer)} kind="Policy" plain />
                        </span>
                      ))}
                      {answer.object_scope === "Own" && ", own objects only"}.
                    </>
                  ) : (
                    "No policy applies."
                  )}
                </p>
              </Callout>
            );
          }}
        </Loaded>
      ) : (
        <EmptyState>
          {what !== "" && !(what in routes) ? `No operation is called ${what}.` : "Choose a person or an agent, and an operation; or press «Check now» next to a denied call."}
        </EmptyState>
      )}
    </Panel>
  );
}
