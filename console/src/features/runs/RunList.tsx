/** Runs of the beamline, newest first, and the campaigns that are under way. */
import { namesIn, useRead, type Answer } from "../../api";
import { OperationButton } from "../../actions";
import { markOfKind, STATES, stateText } from "../../text";
import { plural } from "../../text/units";
import { counter, useAsOf, useNow } from "../../time";
import { ListScreen, ObjectName, Panel, StateMark, Timestamp } from "../../ui";
import { useBeamline, useOpen, useSearchParam } from "../../view";

type Row = Answer<"list_runs">["items"][number];
const STATUSES = Object.keys(STATES.RunStatus ?? {}) as Row["status"][];

export function RunList() {
  const { unitId } = useBeamline();
  const [status, setStatus] = useSearchParam("status");
  const { asOf } = useAsOf();
  const chosen = STATUSES.find((each) => each === status);
  const runs = useRead("list_runs", { limit: 100, ...(unitId && { under_asset_id: unitId }), ...(chosen && { status: [chosen] }) }, { keep: true });
  const open = useOpen();
  const now = useNow(1000);
  const names = namesIn(runs.data);
  return (
    <ListScreen<Row>
      title="Runs"
      isPast={asOf !== undefined}
      statuses={STATUSES}
      status={chosen}
      choose={setStatus}
      action={
        <OperationButton operation="start_run" look="main">
          Start a run
        </OperationButton>
      }
      lead={<Campaigns />}
      read={runs}
      operation="list_runs"
      rowKey={(row) => row.run_id}
      open={(row) => open(`/runs/${row.run_id}`)}
      none="No run was started at this beamline."
      columns={[
        { key: "name", title: "Run", cell: (row) => <ObjectName id={row.run_id} kind="Run" name={row.name} plain />, sort: (row) => row.name },
        { key: "status", title: "Status", cell: (row) => <StateMark state={row.status} schema="RunStatus" />, sort: (row) => row.status },
        { key: "subject", title: "Subject", cell: (row) => <ObjectName id={row.subject_id} names={names} kind="Subject" plain /> },
        { key: "plan", title: "Plan", cell: (row) => <ObjectName id={row.plan_id} names={names} kind="Plan" plain /> },
        { key: "started", title: "Started", cell: (row) => <Timestamp at={row.created_at} />, sort: (row) => row.created_at },
        { key: "lasted", title: "Lasted", align: "right", cell: (row) => counter((row.ended_at ? Date.parse(row.ended_at) : now) - Date.parse(row.created_at)) },
        { key: "reason", title: "Last reason", cell: (row) => <span className="dim cut-text">{row.last_status_reason}</span> },
      ]}
    />
  );
}

/** The campaigns that are active or held, each with the states of its runs. */
function Campaigns() {
  const campaigns = useRead("list_campaigns", { status: ["Active", "Held"], limit: 5 });
  const names = namesIn(campaigns.data);
  const items = campaigns.data?.items ?? [];
  if (items.length === 0) return null;
  return (
    <Panel title="Campaigns under way" flush>
      <ul className="campaigns">
        {items.map((campaign) => (
          <li key={campaign.campaign_id}>
            <b className="b cut">{campaign.name}</b>
            <StateMark state={campaign.status} schema="CampaignStatus" />
            <span className="strip" aria-hidden="true">
              {campaign.run_ids.map((id) => (
                <i key={id} className={markOfKind("Run", names[id]?.status ?? "")} />
              ))}
            </span>
            <span className="dim sm nowrap">{progressText(campaign.run_ids.map((id) => names[id]?.status))}</span>
            <span className="row sm nowrap">
              Last <ObjectName id={campaign.run_ids.at(-1)} names={names} kind="Run" plain />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** «5 runs: 3 completed, 1 running, 1 aborted». */
function progressText(states: readonly (string | null | undefined)[]): string {
  const counts = new Map<string, number>();
  for (const state of states) if (state) counts.set(state, (counts.get(state) ?? 0) + 1);
  const summary = [...counts].map(([state, count]) => `${count} ${stateText(state).toLowerCase()}`).join(", ");
  return summary ? `${plural(states.length, "run")}: ${summary}` : plural(states.length, "run");
}
