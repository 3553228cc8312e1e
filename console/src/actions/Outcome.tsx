/** What a dry run or a command has answered. */
import type { ReactNode } from "react";
import { useRead, type ActionState, type CommandName } from "../api";
import type { Fact } from "../api/problems";
import { useMe } from "../auth";
import { fieldLabel, operationOn, operationTitle, refusalText, stateWord } from "../text";
import { Callout, DryRun, Failure, Refusal, Skeleton, type Values } from "../ui";
import { useOpen } from "../view";
import { ASKED, clearing } from "./asking";

/** Makes a button for each operation that clears a fact. */
export type RemediesOf = (operations: readonly string[], fact: Fact | undefined, values: Values) => ReactNode;

interface OutcomeProps {
  operation: CommandName;
  state: ActionState;
  values: Values;
  name: string | undefined;
  wrong: Record<string, string>;
  reload: () => void;
  remedies: RemediesOf;
}

/** Show what a dry run or a command has answered. */
export function Outcome({ operation, state, values, name, wrong, reload, remedies }: OutcomeProps) {
  const me = useMe();
  const open = useOpen();
  switch (state.phase) {
    case "idle":
    case "sending":
    case "done":
      return null;
    case "checking":
      return <Skeleton what="the dry run" />;
    case "waiting":
      return <p className="dim sm">The service asks to wait {state.seconds} s. The command is sent again after that.</p>;
    case "accepted":
      return <DryRun answer={state.dryRun} at={state.at} />;
    case "proposed":
      return (
        <Callout mark="pending" title="Waiting for approval">
          <button type="button" className="link copy" onClick={() => open(`/proposals/${state.proposalId}`)}>
            Open the proposal
          </button>
        </Callout>
      );
    case "unknown":
      return (
        <Callout mark="unknown" title={`Unknown whether this was done: ${name ? operationOn(operation, name) : operationTitle(operation)}.`}>
          The response was lost. Retrying is safe: the same idempotency key is used, so the command has at most one effect.
        </Callout>
      );
    case "refused": {
      const { problem } = state;
      if (problem.isDenied) return <Failure problem={problem} what={operation} operation={operation} surface={me.data?.surface.name} />;
      if (problem.isChanged)
        return (
          <Callout mark="caution" title={`${name ?? "The object"} has changed.`}>
            <p>{problem.message} Nothing written.</p>
            <button type="button" className="btn s" onClick={reload}>
              Review the change
            </button>
          </Callout>
        );
      if (problem.status >= 500 || problem.status === 0) return <Failure problem={problem} what={operation} operation={operation} again={reload} />;
      if (Object.keys(wrong).length > 0 && !ASKED[problem.code])
        return (
          <Callout mark="blocks" title={problem.body.title ?? problem.message}>
            {Object.entries(wrong).map(([field, detail]) => (
              <p key={field}>
                {fieldLabel(field)}: {detail}
              </p>
            ))}
          </Callout>
        );
      return <Refused operation={operation} state={state} values={values} remedies={remedies} />;
    }
  }
}

/** Show a refusal with the buttons that clear it, and for a start the other checks that fail. */
function Refused({ operation, state, values, remedies }: Pick<OutcomeProps, "operation" | "values" | "remedies"> & { state: Extract<ActionState, { phase: "refused" }> }) {
  const { problem } = state;
  const isStart = operation === "start_run" && typeof values.plan_id === "string";
  const readiness = useRead(
    "get_plan_readiness",
    {
      plan_id: typeof values.plan_id === "string" ? values.plan_id : "",
      ...(typeof values.subject_id === "string" && { subject_id: values.subject_id }),
    },
    { when: isStart, current: true },
  );
  const also = (readiness.data?.checks ?? [])
    .filter(({ passed, check }) => !passed && check !== problem.body.check)
    .map(({ check, facts, cleared_by }) => ({ name: check, facts, clearedBy: cleared_by }));
  return (
    <Refusal
      problem={problem}
      at={state.at}
      isDryRun={state.isDryRun}
      also={also}
      sentence={refusalText(problem.code, problem.message)}
      ways={(fact) => clearing(problem.clearedBy, fact, problem.facts)}
      remedies={(operations, fact) => remedies(operations, fact && { ...fact, state: stateWord(fact.state) }, values)}
    />
  );
}
