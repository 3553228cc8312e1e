/** The form of a command and its buttons. */
import type { ReactNode } from "react";
import type { CommandName } from "../api";
import { factText } from "../text";
import { ActionButton, Callout, SchemaForm } from "../ui";
import { ClearanceReview } from "./ClearanceReview";
import { useOperationForm, type OperationFormProps } from "./useOperationForm";
import { Outcome, type RemediesOf } from "./Outcome";

interface Props extends OperationFormProps {
  remedies: RemediesOf;
  /** Place the fields with the outcome, and the buttons. */
  children: (parts: Parts) => ReactNode;
}

interface Parts extends Pick<ReturnType<typeof useOperationForm>, "confirm" | "repeat" | "state"> {
  body: ReactNode;
  footer: ReactNode;
}

/** Show the form of a command in a sheet, a popover or the palette, which place its parts. */
export function FormParts({ lead, preview, confirmText, isBare = false, remedies, children, ...form }: Props) {
  const { operation, name } = form;
  const { fields, values, note, setNote, isProposal, ending, isLast, title, despite, ignored, state, isChecked, reason, confirm, repeat, reload } = useOperationForm(form);
  const body = (
    <>
      {lead}
      {REVIEWED.has(operation) && <ClearanceReview id={typeof values.clearance_id === "string" ? values.clearance_id : ""} />}
      {!isBare && <SchemaForm {...fields} />}
      {preview?.(values)}
      {isProposal && (
        <div className="field">
          <label htmlFor={`${operation}-note`}>
            Note to the approver<em>optional</em>
          </label>
          <textarea id={`${operation}-note`} className="in" value={note} onChange={(event) => setNote(event.target.value)} />
        </div>
      )}
      {ending && (
        <p className="sm dim">
          {ending.does}
          {ending.isForGood && " This cannot be undone."}
        </p>
      )}
      {despite && (
        <Callout mark="caution" title={despite}>
          {ignored.map((fact, index) => (
            <p key={fact.id ?? index}>{factText(fact)}.</p>
          ))}
        </Callout>
      )}
      <Outcome operation={operation} state={state} values={values} name={name} wrong={fields.wrong} reload={reload} remedies={remedies} />
    </>
  );
  const footer = (
    <>
      {state.phase === "unknown" ? (
        <>
          <ActionButton look="main" press={confirm}>
            Retry with the same key
          </ActionButton>
          <ActionButton press={reload}>Read {name ?? "the object"}</ActionButton>
        </>
      ) : state.phase === "done" || state.phase === "proposed" ? null : (
        <ActionButton
          look={isLast ? "terminal" : "main"}
          press={confirm}
          reason={reason}
          isBusy={state.phase === "sending" || state.phase === "waiting" || (isChecked && state.phase === "checking")}
        >
          {isProposal ? "Propose…" : ending?.isForGood ? `${title} permanently` : (confirmText ?? title)}
        </ActionButton>
      )}
    </>
  );
  return children({ body, footer, confirm, repeat, state });
}

/** The decisions on a clearance, before which it is shown. */
const REVIEWED: ReadonlySet<CommandName> = new Set(["append_clearance_review_step", "approve_clearance", "reject_clearance", "activate_clearance"]);
