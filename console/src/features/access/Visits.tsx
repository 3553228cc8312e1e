import { OperationButton } from "../../actions";
import { namesIn, useRead, type Answer } from "../../api";
import { plural, stateText } from "../../text";
import { DataTable, Loaded, ObjectName, Panel, StateMark, Timestamp } from "../../ui";
import { useSearchParam } from "../../view";
import { Steps } from "./Steps";
import "./access.css";
import { OpenOrAll, rank } from "./OpenOrAll";

type Visit = Answer<"list_visits">["items"][number];
const statesOf = ({ status, controlling }: Visit) => ({ status, controlling: String(controlling) });
const visitName = ({ type, external_refs }: Visit) => `${type} visit ${external_refs.proposal ?? Object.values(external_refs)[0] ?? ""}`.trim();

export function Visits() {
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
