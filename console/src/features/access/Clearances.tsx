import { OperationButton } from "../../actions";
import { useRead } from "../../api";
import { plural, stateText } from "../../text";
import { DataTable, Loaded, Panel, StateMark, Timestamp } from "../../ui";
import { useSearchParam } from "../../view";
import { Steps } from "./Steps";
import "./access.css";
import { OpenOrAll, rank } from "./OpenOrAll";

export function Clearances() {
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
