/** Access: who may do what, who was denied, visits and clearances. */
import { commandsFrom, isFinal, OperationButton } from "../../actions";
import { namesIn, useRead, type Answer } from "../../api";
import { useMe } from "../../auth";
import { plural, stateText } from "../../text";
import { DataTable, Loaded, ObjectName, Panel, StateMark, Timestamp } from "../../ui";
import { useSearchParam } from "../../view";
import { Matrix } from "./Matrix";
import { May, type Question } from "./May";
import { Policies } from "./Policies";
import { Steps } from "./Steps";
import "./access.css";

/** Access. */
export default function Access() {
  const [who, setWho] = useSearchParam("who");
  const [what, setWhat] = useSearchParam("what");
  const [where, setWhere] = useSearchParam("where");
  const ask = (question: Partial<Question>) => {
    if (question.who !== undefined) setWho(question.who || undefined);
    if (question.what !== undefined) setWhat(question.what || undefined);
    if (question.where !== undefined) setWhere(question.where || undefined);
  };
  return (
    <div className="main access">
      <h1 className="hidden">Access</h1>
      <Clearances />
      <Visits />
      <Denials ask={ask} />
      <May asked={{ who: who ?? "", what: what ?? "", where: where ?? "" }} ask={ask} />
      <Policies />
      <Actors />
      <Matrix />
    </div>
  );
}

/** Return where a row belongs: it waits for a step, it only can be ended, or it has ended. */
function rank(kind: "Visit" | "Clearance", states: Record<string, string>): number {
  const commands = commandsFrom(kind, states);
  if (commands.length === 0) return 2;
  return commands.every(isFinal) ? 1 : 0;
}

/** Let the reader choose between what has not ended and everything. */
function OpenOrAll({ name, isAll, set }: { name: string; isAll: boolean; set: (isAll: boolean) => void }) {
  return (
    <span className="tabs" role="group" aria-label={`Which ${name}`}>
      {[false, true].map((each) => (
        <button key={String(each)} type="button" className={each === isAll ? "on" : ""} aria-pressed={each === isAll} onClick={() => set(each)}>
          {each ? "All" : "Open"}
        </button>
      ))}
    </span>
  );
}

type Visit = Answer<"list_visits">["items"][number];
const statesOf = ({ status, controlling }: Visit) => ({ status, controlling: String(controlling) });
const visitName = ({ type, external_refs }: Visit) => `${type} visit ${external_refs.proposal ?? Object.values(external_refs)[0] ?? ""}`.trim();

function Visits() {
  const read = useRead("list_visits", { limit: 100 });
  const [shown, setShown] = useSearchParam("visits");
  const isAll = shown === "all";
  const all = read.data?.items ?? [];
  const rows = [...all]
    .filter((visit) => isAll || rank("Visit", { status: visit.status }) < 2)
    .sort((a, b) => Number(b.controlling) - Number(a.controlling) || rank("Visit", { status: a.status }) - rank("Visit", { status: b.status }));
  return (
    <Panel
      title="Visits"
      note={plural(rows.length, "visit")}
      flush
      end={
        <>
          <OpenOrAll name="visits" isAll={isAll} set={(all) => setShown(all ? "all" : undefined)} />
          <OperationButton operation="register_visit" size="small" />
        </>
      }
    >
      <Loaded read={read} what="visits" operation="list_visits">
        {(data) => (
          <DataTable
            label="Visits"
            rows={rows}
            rowKey={({ visit_id }) => visit_id}
            empty={all.length > 0 ? "No visit is open." : "No visit is registered."}
            columns={[
              {
                key: "name",
                title: "Visit",
                cell: (visit) => (
                  <span className="two">
                    <b className="b">{stateText(visitName(visit))}</b>
                    <span className="dim sm">
                      <ObjectName id={visit.parent_surface_id} names={namesIn(data)} plain />
                    </span>
                  </span>
                ),
              },
              {
                key: "status",
                title: "Status",
                cell: ({ status, controlling }) => (
                  <span className="two">
                    <StateMark state={status} schema="VisitStatus" />
                    {controlling && <span className="sm">in control</span>}
                  </span>
                ),
                sort: ({ status }) => status,
              },
              { key: "end", title: "Planned end", cell: ({ planned_end_at }) => <Timestamp at={planned_end_at} />, sort: ({ planned_end_at }) => planned_end_at },
              {
                key: "acts",
                title: "Next step",
                cell: (visit) => <Steps kind="Visit" states={statesOf(visit)} about={{ visit_id: visit.visit_id }} name={visitName(visit)} />,
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function Clearances() {
  const read = useRead("list_clearances", { limit: 100 });
  const [shown, setShown] = useSearchParam("clearances");
  const isAll = shown === "all";
  const all = read.data?.items ?? [];
  const rows = [...all]
    .filter(({ status }) => isAll || rank("Clearance", { status }) < 2)
    .sort((a, b) => rank("Clearance", { status: a.status }) - rank("Clearance", { status: b.status }));
  const waiting = all.filter(({ status }) => rank("Clearance", { status }) === 0).length;
  return (
    <Panel
      title="Clearances"
      note={waiting === 0 ? "none waits for a step" : `${plural(waiting, "clearance")} waiting for a step`}
      flush
      end={
        <>
          <OpenOrAll name="clearances" isAll={isAll} set={(all) => setShown(all ? "all" : undefined)} />
          <OperationButton operation="register_clearance" size="small" />
        </>
      }
    >
      <Loaded read={read} what="clearances" operation="list_clearances">
        {() => (
          <DataTable
            label="Clearances"
            rows={rows}
            rowKey={({ clearance_id }) => clearance_id}
            empty={all.length > 0 ? "No clearance is open." : "No clearance is registered."}
            columns={[
              {
                key: "title",
                title: "Clearance",
                cell: ({ title, kind, review_steps }) => (
                  <span className="two">
                    <b className="b">{title}</b>
                    <span className="dim sm">
                      {stateText(kind)}
                      {review_steps.length > 0 && `, ${plural(review_steps.length, "review step")}`}
                    </span>
                  </span>
                ),
                sort: ({ title }) => title,
              },
              { key: "status", title: "Status", cell: ({ status }) => <StateMark state={status} schema="ClearanceStatus" />, sort: ({ status }) => status },
              { key: "risk", title: "Risk", cell: ({ risk_band }) => risk_band ?? <span className="faint">not set</span>, sort: ({ risk_band }) => risk_band },
              { key: "until", title: "Valid until", cell: ({ valid_until }) => (valid_until ? <Timestamp at={valid_until} /> : "no end"), sort: ({ valid_until }) => valid_until },
              {
                key: "acts",
                title: "Next step",
                cell: ({ clearance_id, status, title }) => <Steps kind="Clearance" states={{ status }} about={{ clearance_id }} name={title} />,
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}

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

function Denials({ ask }: { ask: (question: Question) => void }) {
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

function Actors() {
  const read = useRead("list_actors", { limit: 100 });
  return (
    <Panel title="Actors" note={read.data && plural(read.data.items.length, "actor")} flush end={<OperationButton operation="register_actor" size="small" />}>
      <Loaded read={read} what="actors" operation="list_actors">
        {({ items }) => (
          <DataTable
            label="Actors"
            rows={items}
            rowKey={({ actor_id }) => actor_id}
            empty="No actor is registered."
            columns={[
              { key: "name", title: "Name", cell: ({ actor_id, name }) => <ObjectName id={actor_id} name={name} kind="" />, sort: ({ name }) => name },
              { key: "kind", title: "Kind", cell: ({ kind }) => stateText(kind), sort: ({ kind }) => kind },
              { key: "active", title: "State", cell: ({ active }) => <StateMark mark={active ? "normal" : "denied"}>{active ? "Active" : "Deactivated"}</StateMark> },
              { key: "since", title: "Registered", cell: ({ created_at }) => <Timestamp at={created_at} />, sort: ({ created_at }) => created_at },
              {
                key: "acts",
                title: "Actions",
                cell: ({ actor_id, name, active }) => (
                  <span className="acts">
                    <Steps kind="Actor" states={{ active: String(active) }} about={{ actor_id }} name={name} />
                    <OperationButton operation="forget_actor" about={{ actor_id }} name={name} isTerminal size="small" look="quiet" hideReason>
                      Forget
                    </OperationButton>
                  </span>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}
