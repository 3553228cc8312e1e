/** Access: who may do what, who was denied, visits and clearances. */
import { OperationButton } from "../../actions";
import { useRead } from "../../api";
import { plural, stateText } from "../../text";
import { DataTable, Loaded, ObjectName, Panel, StateMark, Timestamp } from "../../ui";
import { useSearchParam } from "../../view";
import { Matrix } from "./Matrix";
import { May, type Question } from "./May";
import { Policies } from "./Policies";
import { Steps } from "./Steps";
import "./access.css";
import { Clearances } from "./Clearances";
import { Denials } from "./Denials";
import { Visits } from "./Visits";

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
