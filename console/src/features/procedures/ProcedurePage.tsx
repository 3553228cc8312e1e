/** One procedure: its steps, what became of them, and what is asked of the operator. */
import { useMemo } from "react";
import { namesIn, routes, useAllPages, useRead, type CommandName, type Names } from "../../api";
import { stepNumber } from "../../text";
import { length, useAsOf, useNow, useZone } from "../../time";
import { Callout, EmptyState, Loaded, Panel, StepList, type Step } from "../../ui";
import { Question } from "./Question";
import { iterationShown, lastOf, rowsOf } from "./steps";
import { Head } from "./Head";
import { Iterations } from "./Iterations";
import { Log } from "./Log";
import type { Conduct, Procedure } from "./steps";

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
          <Log
            procedure={procedure}
            conduct={conduct}
            activities={activities}
            names={Object.assign({}, ...rows.map(({ data }) => namesIn(data))) as Names}
            isCut={rows.some(({ data }) => data?.next_cursor != null)}
          />
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
      {isActive && conduct.status === "Queued" && (
        <Callout mark="pending" title={`Queued for ${length(now - Date.parse(conduct.requested_at))}.`}>
          A worker takes the conduct when one is free.
        </Callout>
      )}
      {isActive && conduct.lease_expired && (
        <Callout mark="unknown" title="No worker is active.">
          The worker of this conduct sent no heartbeat in time. Another worker may take over.
        </Callout>
      )}
      {conduct.failure && !isAsked(conduct) && (
        <Callout
          mark={isActive || procedure.status === "Held" || procedure.status === "Aborted" ? "blocks" : "info"}
          title={conduct.failure.message}
          end={<code>{conduct.failure.error_class}</code>}
        >
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
