/** The heading of a procedure: its state, what it is part of, and its commands. */
import type { CommandName, Names } from "../../api";
import { OperationButton, OperationMenu } from "../../actions";
import { markOf, reasonText, stateText } from "../../text";
import { ObjectName, StateMark, Timestamp } from "../../ui";
import type { Conduct, Procedure } from "./steps";

// prettier-ignore
const MORE: readonly CommandName[] = [
  "conduct_procedure", "conduct_or_hold_procedure", "conduct_until_converged", "conduct_until_advised",
  "conduct_from_procedure", "conduct_until_advised_from", "start_procedure", "resume_procedure",
  "complete_procedure", "hold_procedure", "truncate_procedure", "start_iteration", "end_iteration", "append_activities",
];

interface HeadProps {
  procedure: Procedure;
  conduct: Conduct | undefined;
  etag: string | undefined;
  names: Names;
  /** The command that continues the procedure, as the service names it. */
  needed: CommandName | undefined;
  isInDoubt: boolean;
}

export function Head({ procedure, conduct, etag, names, needed, isInDoubt }: HeadProps) {
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
        {needed && !isInDoubt && (
          <OperationButton operation={needed} about={about} {...common} look="main">
            Continue
          </OperationButton>
        )}
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
