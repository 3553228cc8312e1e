/** One procedure: its steps, what became of them, and what is asked of the operator. */
import { useMemo } from "react";
import { namesIn, routes, useAllPages, useRead, type Answer, type CommandName, type Names } from "../../api";
import { OperationButton, OperationMenu } from "../../actions";
import { markOf, reasonText, stateText, stepNumber, TONES } from "../../text";
import { length, useAsOf, useNow, useZone } from "../../time";
import { Callout, DataTable, EmptyState, EventLine, Loaded, ObjectName, Panel, StateMark, StepList, Tabs, Timestamp, type Step } from "../../ui";
import { Plot } from "../../ui/Plot";
import { Question } from "./Question";
import { iterationShown, lastOf, rowsOf, valueText, type Activity } from "./steps";

type Procedure = Answer<"get_procedure">;
type Conduct = Answer<"get_conduct">;

// prettier-ignore
const MORE: readonly CommandName[] = [
  "conduct_procedure", "conduct_or_hold_procedure", "conduct_until_converged", "conduct_until_advised",
  "conduct_from_procedure", "conduct_until_advised_from", "start_procedure", "resume_procedure",
  "complete_procedure", "hold_procedure", "truncate_procedure", "start_iteration", "end_iteration", "append_activities",
];

export function ProcedurePage({ id }: { id: string }) {
  const procedure = useRead("get_procedure", { procedure_id: id });
  return (
    <div className="main procedures">
      <Loaded read={procedure} what="the procedure" operation="get_procedure">
        {(shown) => <Shown procedure={shown} etag={procedure.etag} />}
      </Loaded>
    </div>
  );
}

function Shown({ procedure, etag }: { procedure: Procedure; etag: string | undefined }) {
  const { asOf } = useAsOf();
  const zone = useZone();
  const known = procedure.active_conduct ?? procedure.last_conduct;
  const read = useRead("get_conduct", { procedure_id: procedure.procedure_id, conduct_id: known?.conduct_id ?? "" }, { when: known !== null });
  const conduct = read.data;
  const { rows, activities } = useActivities(procedure);
  const undecided = useMemo(() => procedure.last_conduct?.undecided_step_indexes ?? [], [procedure.last_conduct]);
  const asked = procedure.status === "Held" ? undecided : NONE;
  const progress = { undecided: asked, isActive: procedure.active_conduct !== null && conduct?.lease_expired !== true, time: (at: string) => zone.time(at) };
  const last = lastOf(activities, "Steps");
  const steps = rowsOf(procedure.steps ?? [], { ...progress, last });
  const closing = rowsOf(procedure.closing_steps ?? [], { ...progress, last: lastOf(activities, "Closing") });
  const needed = (conduct?.needs ?? []).find((name): name is CommandName => name in routes);
  const isAsking = asked.length > 0 && !asOf;
  return (
    <>
      <Head procedure={procedure} conduct={conduct} etag={etag} names={{ ...namesIn(conduct), ...namesIn(procedure) }} needed={needed} isInDoubt={asked.length > 0} />
      <div className={isAsking ? "procedure-cols asking" : "procedure-cols"}>
        <div className="stack">
          <Segments steps={steps} closing={closing} />
          <Warnings procedure={procedure} conduct={asOf ? undefined : conduct} />
          <Panel title="Steps" flush>
            {steps.length === 0 ? (
              <div className="table-empty">
                <EmptyState>This procedure has no pinned steps. It is done by hand, or its steps are given when it is conducted.</EmptyState>
              </div>
            ) : (
              <StepList steps={steps} label="Steps" />
            )}
            {closing.length > 0 && (
              <>
                <p className="closing dim sm">Closing steps: run once after Completed or Aborted</p>
                <StepList steps={closing} label="Closing steps" isLettered />
              </>
            )}
          </Panel>
          <Log procedure={procedure} conduct={conduct} activities={activities} names={Object.assign({}, ...rows.map(({ data }) => namesIn(data))) as Names} isCut={rows.some(({ data }) => data?.next_cursor != null)} />
          {procedure.iteration_count > 0 && <Iterations procedure={procedure} />}
        </div>
        {isAsking && (
          <Question
            procedure={procedure}
            etag={etag}
            operation={needed ?? "conduct_from_procedure"}
            endedAt={procedure.last_conduct?.ended_at}
            asked={asked}
            steps={procedure.steps ?? []}
            last={last}
            activities={activities}
          />
        )}
      </div>
    </>
  );
}

const NONE: readonly number[] = [];

/** Return the activities of the steps, of the last iteration if there are several, and of the closing steps. */
function useActivities(procedure: Procedure) {
  const { procedure_id, closing_steps } = procedure;
  const { asOf } = useAsOf();
  const iteration_index = iterationShown(procedure);
  const isLoop = iteration_index !== undefined;
  const steps = useAllPages("list_procedure_activities", { procedure_id, ...(isLoop && { iteration_index }) });
  const closing = useAllPages("list_procedure_activities", { procedure_id, phase: "Closing" }, { when: isLoop && (closing_steps ?? []).length > 0 });
  const activities = useMemo(
    () => [...(steps.data?.items ?? []), ...(closing.data?.items ?? [])].filter(({ sampled_at }) => !asOf || Date.parse(sampled_at) <= Date.parse(asOf)),
    [asOf, closing.data, steps.data],
  );
  return { rows: [steps, closing], activities };
}

interface HeadProps {
  procedure: Procedure;
  conduct: Conduct | undefined;
  etag: string | undefined;
  names: Names;
  /** The command that continues the procedure, as the service names it. */
  needed: CommandName | undefined;
  isInDoubt: boolean;
}

function Head({ procedure, conduct, etag, names, needed, isInDoubt }: HeadProps) {
  const about = { procedure_id: procedure.procedure_id };
  const common = { name: procedure.name, etag, states: { status: procedure.status }, hideReason: true };
  const { active_conduct: active } = procedure;
  const kind = conduct?.actuation_kind;
  return (
    <div className="object-head">
      <h1 className="screen-title">{procedure.name}</h1>
      {isInDoubt ? (
        <StateMark as="chip" mark="unknown">
          Held · a step is in doubt
        </StateMark>
      ) : (
        <StateMark as="chip" state={procedure.status} schema="ProcedureStatus" />
      )}
      {(kind === "Simulated" || kind === "Hybrid") && <span className="chip">{kind}</span>}
      <div className="dim grow">
        <div>
          {procedure.recipe_id && (
            <>
              Recipe <ObjectName id={procedure.recipe_id} names={names} kind="Recipe" plain />, version {procedure.recipe_version_number} ·{" "}
            </>
          )}
          on {procedure.target_asset_ids.map((id) => names[id]?.name ?? "asset (no access)").join(", ") || "no asset"}
          {procedure.parent_run_id && (
            <>
              {" "}
              · in <ObjectName id={procedure.parent_run_id} names={names} kind="Run" plain />
            </>
          )}
        </div>
        <div className="sm">
          {conduct ? (
            <>
              Requested <Timestamp at={conduct.requested_at} /> by {names[conduct.requested_by]?.name ?? "someone"}
              {conduct.ended_at && (
                <>
                  {" "}
                  · {stateText(conduct.outcome ?? "Ended").toLowerCase()} <Timestamp at={conduct.ended_at} />
                </>
              )}
            </>
          ) : (
            "Not conducted yet"
          )}
          {procedure.last_status_reason && !isInDoubt && markOf(procedure.status, "ProcedureStatus") !== "done" && ` · ${reasonText(procedure.last_status_reason)}`}
        </div>
      </div>
      <span className="end row">
        {needed && !isInDoubt && <OperationButton operation={needed} about={about} {...common} look="main">Continue</OperationButton>}
        {active ? (
          <>
            <OperationButton operation="hold_procedure" about={about} {...common} lead={<p className="sm dim">The step under way finishes first.</p>} />
            <OperationButton
              operation="cancel_conduct"
              about={{ ...about, conduct_id: active.conduct_id }}
              {...common}
              isTerminal={false}
              lead={<p className="sm dim">The step under way is interrupted. Motion that was commanded is not stopped.</p>}
            />
          </>
        ) : null}
        <OperationButton operation="abort_procedure" about={about} {...common} lead={<p className="sm dim">No closing step is run. Motion that was commanded is not stopped.</p>} />
        <OperationMenu label="Actions on the procedure" operations={MORE} about={about} name={procedure.name} etag={etag} states={{ status: procedure.status }} />
      </span>
    </div>
  );
}

/** How many steps are done, as words and as segments. */
function Segments({ steps, closing }: { steps: readonly Step[]; closing: readonly Step[] }) {
  if (steps.length === 0) return null;
  const done = steps.filter(({ mark }) => mark === "normal" || mark === "denied").length;
  return (
    <div className="segments">
      <span className="nowrap">
        <b className="b">
          {done} of {steps.length}
        </b>{" "}
        <span className="dim sm">steps done</span>
      </span>
      <div className="seg" aria-hidden="true">
        {steps.map(({ index, mark }) => (
          <i key={index} className={mark} />
        ))}
        {closing.length > 0 && <b>+</b>}
        {closing.map(({ index, mark }) => (
          <i key={`closing ${index}`} className={`small ${mark}`} />
        ))}
      </div>
    </div>
  );
}

/** What the conduct waits for, or what went wrong although it ended. */
function Warnings({ procedure, conduct }: { procedure: Procedure; conduct: Conduct | undefined }) {
  const now = useNow(1000);
  if (!conduct) return null;
  const isActive = procedure.active_conduct !== null;
  return (
    <>
      {isActive && conduct.status === "Queued" && <Callout mark="pending" title={`Queued for ${length(now - Date.parse(conduct.requested_at))}.`}>A worker takes the conduct when one is free.</Callout>}
      {isActive && conduct.lease_expired && <Callout mark="unknown" title="No worker is active.">The worker of this conduct sent no heartbeat in time. Another worker may take over.</Callout>}
      {conduct.failure && !isAsked(conduct) && (
        <Callout mark={isActive || procedure.status === "Held" || procedure.status === "Aborted" ? "blocks" : "info"} title={conduct.failure.message} end={<code>{conduct.failure.error_class}</code>}>
          {conduct.failure.step_index !== null && `Step ${stepNumber(conduct.failure.step_index)}`} {conduct.failure.target && <code>{conduct.failure.target}</code>}
        </Callout>
      )}
      {conduct.closing_failures.map((failure) => (
        <Callout key={`${failure.step_index} ${failure.message}`} mark="caution" title={`A closing step failed: ${failure.message}`} end={<code>{failure.error_class}</code>} />
      ))}
    </>
  );
}

/** Whether a failure is the subject of the question about a step in doubt. */
function isAsked({ failure, undecided_step_indexes: undecided }: Conduct): boolean {
  return failure?.step_index != null && undecided.includes(failure.step_index);
}

interface LogProps {
  procedure: Procedure;
  conduct: Conduct | undefined;
  activities: readonly Activity[];
  names: Names;
  isCut: boolean;
}

function Log({ procedure, conduct, activities, names, isCut }: LogProps) {
  const { asOf } = useAsOf();
  const history = useAllPages("get_procedure_history", { procedure_id: procedure.procedure_id });
  const events = (history.data?.items ?? []).filter(({ occurred_at }) => !asOf || Date.parse(occurred_at) <= Date.parse(asOf));
  const captures = Object.entries((conduct?.captures ?? {}) as Record<string, unknown>);
  const left = [...(isCut ? ["activities"] : []), ...(history.data?.next_cursor ? ["events"] : [])];
  return (
    <Tabs
      label="Activity log"
      note={left.length > 0 ? `Later ${left.join(" and ")} are left out` : procedure.iteration_count > 1 ? "activities of the last iteration" : undefined}
      tabs={[
        { title: "Activities", count: activities.length, flush: true, show: () => <Activities activities={activities} names={names} /> },
        {
          title: "Events",
          count: events.length,
          show: () => (
            <ul className="lines">
              {[...events].reverse().map((event) => (
                <EventLine key={event.event_id} type={event.event_type} at={event.occurred_at} data={event.payload} note={namesIn(history.data)[event.principal_id]?.name} isCleared />
              ))}
            </ul>
          ),
        },
        {
          title: asOf ? "Captures (current)" : "Captures",
          count: captures.length,
          show: () =>
            captures.length === 0 ? (
              <EmptyState>No value was captured.</EmptyState>
            ) : (
              <dl className="kv">
                {captures.map(([name, value]) => (
                  <div key={name} className="pair">
                    <dt>{name}</dt>
                    <dd>{valueText(value)}</dd>
                  </div>
                ))}
              </dl>
            ),
        },
      ]}
    />
  );
}

function Activities({ activities, names }: { activities: readonly Activity[]; names: Names }) {
  return (
    <div className="compact">
      <DataTable<Activity>
        label="Activities"
        rows={[...activities].reverse()}
        rowKey={(row) => row.activity_id}
        empty={<EmptyState>No activity is recorded.</EmptyState>}
        columns={[
          { key: "at", title: "Time", cell: (row) => <Timestamp at={row.sampled_at} /> },
          { key: "what", title: "What", cell: (row) => <span className={TONES[markOf(row.stage, "Stage")] === "alarm" ? "alarm" : ""}>{activityText(row)}</span> },
          { key: "who", title: "Who", cell: (row) => (row.source === "Conductor" ? `worker ${row.claim ?? ""}` : (names[row.principal_id]?.name ?? "by hand")) },
          { key: "detail", title: "Detail", cell: (row) => <span className="dim">{detailText(row)}</span> },
        ]}
      />
    </div>
  );
}

function activityText({ step_index: index, phase, step_kind: kind, stage }: Activity): string {
  const step = index === null ? stateText(kind) : phase === "Closing" ? `Closing step ${String.fromCharCode(97 + index)}` : `Step ${stepNumber(index)}`;
  return `${step} ${stateText(stage).toLowerCase()}`;
}

function detailText({ detail, attempt }: Activity): string {
  const told = typeof detail.message === "string" ? detail.message : detail.value === undefined ? "" : `value ${valueText(detail.value)}`;
  return [told, attempt !== null && attempt > 1 ? `attempt ${attempt}` : ""].filter(Boolean).join(", ");
}

/** The iterations of a loop, with a plot of their value. */
function Iterations({ procedure: { procedure_id, status } }: { procedure: Procedure }) {
  const iterations = useAllPages("list_procedure_iterations", { procedure_id });
  const isOpen = ["progress", "held"].includes(markOf(status, "ProcedureStatus"));
  const now = useNow(isOpen ? 10_000 : 0);
  const items = useMemo(() => iterations.data?.items ?? [], [iterations.data]);
  const series = useMemo(() => {
    const valued = items.filter((row) => typeof row.value === "number");
    return {
      name: "Value",
      times: valued.map((row) => Date.parse(row.ended_at ?? row.started_at) / 1000),
      values: valued.map((row) => row.value as number),
    };
  }, [items]);
  // The plot of a loop that goes on runs up to now.
  const range = useMemo(() => {
    const [first, last] = [series.times[0] ?? 0, series.times.at(-1) ?? 0];
    return [first, isOpen ? Math.max(last, now / 1000) : last] as const;
  }, [isOpen, now, series]);
  return (
    <Panel title="Iterations" note={iterations.data?.next_cursor ? `the first ${items.length}` : undefined} flush>
      {series.times.length > 1 && <Plot series={series} range={range} height={140} />}
      <DataTable
        label="Iterations"
        rows={items}
        rowKey={(row) => String(row.iteration_index)}
        columns={[
          { key: "index", title: "Iteration", cell: (row) => row.iteration_index },
          { key: "started", title: "Started", cell: (row) => <Timestamp at={row.started_at} /> },
          { key: "at", title: "Coordinate", cell: (row) => (row.coordinate ? Object.entries(row.coordinate).map(([axis, value]) => `${axis} ${valueText(value)}`).join(", ") : "") },
          { key: "value", title: "Value", align: "right", cell: (row) => (row.value === null || row.value === undefined ? "" : valueText(row.value)) },
          {
            key: "converged",
            title: "Converged",
            cell: (row) => (row.ended_at === null ? <StateMark mark="progress">Running</StateMark> : row.converged ? <StateMark mark="done">Yes</StateMark> : "no"),
          },
          { key: "reason", title: "Reason", cell: (row) => <span className="dim">{row.reason}</span> },
        ]}
      />
    </Panel>
  );
}
