import { namesIn, useRead, type Answer } from "../../api";
import { useMe } from "../../auth";
import { stateText } from "../../text";
import { DataTable, Loaded, ObjectName, Panel, Timestamp } from "../../ui";
import { useSearchParam } from "../../view";
import type { Question } from "./May";
import "./access.css";

type Denial = Answer<"list_conduit_denials">["items"][number];

/** Return the denials with equal ones in a row as one, with their number. */
function gathered(items: readonly Denial[]): (Denial & { count: number })[] {
  const rows: (Denial & { count: number })[] = [];
  for (const each of items) {
    const last = rows.at(-1);
    const isSame = last && (["principal_id", "command_name", "surface_id", "reason_code"] as const).every((field) => last[field] === each[field]);
    if (isSame) last.count += 1;
    else rows.push({ ...each, count: 1 });
  }
  return rows;
}

export function Denials({ ask }: { ask: (question: Question) => void }) {
  const me = useMe();
  const conduits = useRead("list_conduits", { limit: 100 }, { current: true });
  const surface = useRead("get_surface", { surface_id: me.data?.surface.surface_id ?? "" }, { when: me.data !== undefined, current: true });
  const [given, choose] = useSearchParam("conduit");
  const conduit = given ?? surface.data?.conduit_id;
  const read = useRead("list_conduit_denials", { conduit_id: conduit ?? "", limit: 100 }, { when: conduit !== undefined, keep: true });
  return (
    <Panel
      title="Denied calls"
      note="newest first"
      flush
      end={
        <select className="in" aria-label="Conduit" value={conduit ?? ""} onChange={(event) => choose(event.target.value)}>
          {(conduits.data?.items ?? []).map(({ conduit_id, name }) => (
            <option key={conduit_id} value={conduit_id}>
              Conduit {name}
            </option>
          ))}
        </select>
      }
    >
      <Loaded read={surface.problem ? { ...read, problem: surface.problem } : read} what="denials" operation="list_conduit_denials">
        {(data) => (
          <DataTable
            label="Denied calls"
            rows={gathered(data.items)}
            rowKey={({ denial_id }) => denial_id}
            empty="No call was denied."
            columns={[
              { key: "at", title: "Time", cell: ({ occurred_at }) => <Timestamp at={occurred_at} /> },
              { key: "who", title: "Who", cell: ({ principal_id }) => <ObjectName id={principal_id} names={namesIn(data)} kind="Actor" plain /> },
              {
                key: "what",
                title: "Operation",
                cell: ({ command_name, surface_id, count }) => (
                  <span className="two">
                    <span>
                      <code>{command_name}</code>
                      {count > 1 && <span className="dim sm"> {count} times</span>}
                    </span>
                    {surface_id && (
                      <span className="dim sm">
                        <ObjectName id={surface_id} names={namesIn(data)} kind="Surface" plain />
                      </span>
                    )}
                  </span>
                ),
              },
              { key: "why", title: "Reason", cell: ({ reason_code }) => stateText(reason_code) },
              {
                key: "ask",
                title: <span className="hidden">Question</span>,
                cell: ({ principal_id, command_name, surface_id }) => (
                  <button type="button" className="btn s" onClick={() => ask({ who: principal_id, what: command_name, where: surface_id ?? "" })}>
                    Check now
                  </button>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}
