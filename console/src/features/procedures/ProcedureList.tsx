/** Procedures of the beamline, newest first. */
import { namesIn, useRead, type Answer } from "../../api";
import { OperationButton } from "../../actions";
import { STATES } from "../../text";
import { useAsOf } from "../../time";
import { ListScreen, ObjectName, StateMark, Timestamp } from "../../ui";
import { useBeamline, useOpen, useSearchParam } from "../../view";

type Row = Answer<"list_procedures">["items"][number];
const STATUSES = Object.keys(STATES.ProcedureStatus ?? {}) as Row["status"][];

export function ProcedureList() {
  const { unitId } = useBeamline();
  const { asOf } = useAsOf();
  const [status, setStatus] = useSearchParam("status");
  const open = useOpen();
  const chosen = STATUSES.find((each) => each === status);
  const read = useRead("list_procedures", { limit: 100, ...(unitId && { under_asset_id: unitId }), ...(chosen && { status: [chosen] }) }, { keep: true });
  const names = namesIn(read.data);
  return (
    <ListScreen<Row>
      title="Procedures"
      isPast={asOf !== undefined}
      statuses={STATUSES}
      status={chosen}
      choose={setStatus}
      action={<OperationButton operation="register_procedure">Register a procedure</OperationButton>}
      read={read}
      operation="list_procedures"
      rowKey={(row) => row.procedure_id}
      open={(row) => open(`/procedures/${row.procedure_id}`)}
      none="No procedure is registered for this beamline."
      columns={[
        { key: "name", title: "Procedure", cell: (row) => <ObjectName id={row.procedure_id} kind="Procedure" name={row.name} plain />, sort: (row) => row.name },
        { key: "status", title: "Status", cell: (row) => <Status row={row} />, sort: (row) => row.status },
        { key: "on", title: "On", cell: (row) => row.target_asset_ids.map((id) => names[id]?.name ?? "asset (no access)").join(", ") },
        { key: "run", title: "Run", cell: (row) => <ObjectName id={row.parent_run_id} names={names} kind="Run" plain /> },
        { key: "created", title: "Registered", cell: (row) => <Timestamp at={row.created_at} />, sort: (row) => row.created_at },
        { key: "last", title: "Last conduct", cell: (row) => row.last_conduct && <StateMark state={row.last_conduct.outcome} schema="ConductOutcome" /> },
      ]}
    />
  );
}

function Status({ row }: { row: Row }) {
  const isInDoubt = row.active_conduct === null && (row.last_conduct?.undecided_step_indexes.length ?? 0) > 0 && row.ended_at === null;
  return isInDoubt ? <StateMark mark="unknown">A step is in doubt</StateMark> : <StateMark state={row.status} schema="ProcedureStatus" />;
}
