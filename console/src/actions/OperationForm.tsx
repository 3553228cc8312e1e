/** One command from its form to its outcome: fields, dry run, confirmation, answer. */
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState, type ReactNode } from "react";
import { useAction, useRead, type ActionState, type Arguments, type CommandName, type Sent } from "../api";
import type { Fact, Problem } from "../api/problems";
import routes from "../api/routes.json";
import { useCatalogue } from "../api/useCatalogue";
import { useMay, useMe } from "../auth";
import { affectedBy } from "../feed/invalidation";
import { abnormalFacts, ENDINGS, factText, fieldLabel, kindOfField, operationOn, operationTitle, refusalText, stateWord } from "../text";
import { ActionButton, Callout, DryRun, Failure, Refusal, SchemaForm, Skeleton, unasked, type DomainSchema, type Values } from "../ui";
import { announce, useOpen } from "../view";
import { ASKED, clearing, despite } from "./asking";
import { ClearanceReview } from "./ClearanceReview";
import { OperationButton } from "./OperationButton";
import { useDeclared } from "./useDeclared";
import { usePick } from "./usePick";

const DRY_RUN_MS = 250;

export interface OperationFormProps {
  operation: CommandName;
  /** Values that are given by what the action is about; they are not asked for. */
  about?: Values;
  /** Values that the form begins with. */
  initial?: Values;
  /** The name of the object, for the button: «Hold Run 1». */
  name?: string | undefined;
  /** The version that is shown, for If-Match. */
  etag?: string | undefined;
  /** Whether the action ends something (default: what the table of endings says). */
  isTerminal?: boolean;
  /** Schemas of the domain for fields that are plain JSON otherwise. */
  domain?: Readonly<Record<string, DomainSchema>>;
  /** Shown above the form, such as the cautions that a start acknowledges. */
  lead?: ReactNode;
  /** Shown under the form, such as what the entered values change. */
  preview?: (values: Values) => ReactNode;
  /** The text of the button that sends (default: the operation and the name). */
  confirmText?: string;
  /** Show no fields: the command needs none. */
  isBare?: boolean;
  /** Called when the command was carried out or proposed. */
  done?: (sent: Sent | undefined) => void;
}

export interface FormParts {
  body: ReactNode;
  footer: ReactNode;
  confirm: () => void;
  state: ActionState;
  repeat: () => void;
}

/** Return the parts of a form, for a sheet, a popover or the palette. */
export function useOperationForm({
  operation,
  about = NOTHING,
  initial = NOTHING,
  name,
  etag,
  isTerminal,
  domain,
  lead,
  preview,
  confirmText,
  isBare = false,
  done,
}: OperationFormProps): FormParts {
  const { operations, schemas } = useCatalogue();
  const described = operations[operation];
  const action = useAction(operation);
  const { dryRun, send, state } = action;
  const may = useMay();
  const me = useMe();
  const pick = usePick();
  const open = useOpen();
  const queries = useQueryClient();
  const [own, setOwn] = useState<Values>(initial);
  const [note, setNote] = useState("");
  const { fields } = described;
  const empty = useMemo(() => unasked(fields, described.required, schemas), [described, fields, schemas]);
  const required = described.required.filter((field) => empty[field] === undefined);
  const values = useMemo(() => ({ ...empty, ...own, ...about }), [about, empty, own]);
  const declared = useDeclared(operation, values);
  const offer = may(operation);
  const isProposal = offer.verdict === "proposable" || (state.phase === "accepted" && state.dryRun.would_propose === true);
  const missing = required.filter((field) => values[field] === undefined || values[field] === "");
  const isComplete = missing.length === 0;
  const ending = isTerminal === false ? undefined : ENDINGS[operation];
  const isLast = isTerminal ?? ending !== undefined;
  const title = name ? operationOn(operation, name) : operationTitle(operation);

  const text = JSON.stringify(values);
  const [checked, setChecked] = useState<string>();
  const check = useCallback(() => {
    setChecked(text);
    void dryRun(JSON.parse(text) as Arguments<typeof operation>);
  }, [dryRun, text]);
  useEffect(() => {
    if (!isComplete || !offer.isEnabled) return;
    const timer = setTimeout(check, DRY_RUN_MS);
    return () => clearTimeout(timer);
  }, [check, isComplete, offer.isEnabled]);
  // The dry run of other values says nothing about these.
  const isChecked = checked === text;

  useEffect(() => {
    if (state.phase === "done") {
      announce(`Done: ${title}.`);
      done?.(state.sent);
    } else if (state.phase === "proposed") announce(`Proposed: ${title}. It waits for approval.`);
    // The title and the callback belong to the moment of the answer.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [state.phase]);

  const refused = state.phase === "refused" ? state.problem : undefined;
  const asking = refused && ASKED[refused.code];
  // What was in the way stays in view while the answer to it is typed and tried.
  const [inTheWay, setInTheWay] = useState<Problem>();
  if (asking && inTheWay !== refused) setInTheWay(refused);
  const answered = inTheWay && ASKED[inTheWay.code];
  const ignored = answered && state.phase === "accepted" ? abnormalFacts(despite(inTheWay.facts, answered, state.dryRun.events)) : [];
  const isAsked = asking !== undefined || ignored.length > 0 || (answered !== undefined && state.phase !== "accepted");
  const wrong = asking ? { [asking.field]: asking.request } : refused ? wrongFields(refused.body.errors) : NO_ERRORS;
  const reload = () => {
    const affected = affectedBy(described.aggregate);
    void queries.invalidateQueries({ predicate: ({ queryKey }) => affected.has(String(queryKey[0])) });
    action.reset();
    if (isComplete) check();
  };
  const confirm = () => {
    if (isChecked && (state.phase === "accepted" || state.phase === "unknown"))
      void send(values as Arguments<typeof operation>, { etag, note: isProposal ? note || undefined : undefined });
  };

  const body = (
    <>
      {lead}
      {REVIEWED.has(operation) && <ClearanceReview id={typeof values.clearance_id === "string" ? values.clearance_id : ""} />}
      {!isBare && (
        <SchemaForm
          fields={fields}
          required={isAsked && answered ? [...required, answered.field] : required}
          schemas={schemas}
          values={own}
          change={setOwn}
          pick={pick}
          wrong={wrong}
          hidden={Object.keys(about)}
          domain={{ ...declared, ...domain }}
        />
      )}
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
      {answered && ignored.length > 0 && (
        <Callout mark="caution" title={answered.despite}>
          {ignored.map((fact, index) => (
            <p key={fact.id ?? index}>{factText(fact)}.</p>
          ))}
        </Callout>
      )}
      <Outcome
        operation={operation}
        state={state}
        values={values}
        name={name}
        surface={me.data?.surface.name}
        wrong={wrong}
        reload={reload}
        open={open}
      />
    </>
  );
  const reason = reasonAgainst(isChecked ? state : IDLE, offer.reason, missing);
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
  return { body, footer, confirm, state, repeat: check };
}

const NOTHING: Values = {};
/** The decisions on a clearance, before which it is shown. */
const REVIEWED: ReadonlySet<CommandName> = new Set(["append_clearance_review_step", "approve_clearance", "reject_clearance", "activate_clearance"]);
const IDLE: ActionState = { phase: "idle" };
const NO_ERRORS: Record<string, string> = {};

/** Return the problems of fields that a refused request names. */
function wrongFields(errors: unknown): Record<string, string> {
  if (!Array.isArray(errors)) return NO_ERRORS;
  const found = errors as { field?: unknown; problem?: unknown }[];
  return Object.fromEntries(found.map(({ field, problem }) => [String(field), String(problem)]));
}

function reasonAgainst(state: ActionState, offered: string | undefined, missing: readonly string[]): string | undefined {
  if (offered) return offered;
  if (missing.length > 0) return `Missing: ${missing.map(fieldLabel).join(", ")}`;
  if (state.phase === "refused") return state.isDryRun ? "The dry run was refused" : "The command was refused";
  if (state.phase === "idle") return "Waiting for the dry run";
  return undefined;
}

interface OutcomeProps {
  operation: CommandName;
  state: ActionState;
  values: Values;
  name: string | undefined;
  surface: string | undefined;
  wrong: Record<string, string>;
  reload: () => void;
  open: (path: string) => void;
}

/** Show what a dry run or a command has answered. */
function Outcome({ operation, state, values, name, surface, wrong, reload, open }: OutcomeProps) {
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
      if (problem.isDenied) return <Failure problem={problem} what={operation} operation={operation} surface={surface} />;
      if (problem.isChanged)
        return (
          <Callout mark="caution" title={`${name ?? "The object"} has changed.`}>
            <p>{problem.message} Nothing written.</p>
            <button type="button" className="btn s" onClick={reload}>
              Review the change
            </button>
          </Callout>
        );
      if (problem.status >= 500 || problem.status === 0)
        return <Failure problem={problem} what={operation} operation={operation} again={reload} />;
      if (Object.keys(wrong).length > 0 && !ASKED[problem.code])
        return (
          <Callout mark="blocks" title={problem.body.title ?? problem.message}>
            {Object.entries(wrong).map(([field, told]) => (
              <p key={field}>
                {fieldLabel(field)}: {told}
              </p>
            ))}
          </Callout>
        );
      return <Refused operation={operation} state={state} values={values} />;
    }
  }
}

/** Show a refusal with the buttons that clear it, and for a start the other checks that fail. */
function Refused({
  operation,
  state,
  values,
}: {
  operation: CommandName;
  state: Extract<ActionState, { phase: "refused" }>;
  values: Values;
}) {
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
      remedies={(operations, fact) => <Remedies operations={operations} fact={fact && { ...fact, state: stateWord(fact.state) }} values={values} />}
    />
  );
}

/** Show a button for each operation that clears a fact. */
export function Remedies({
  operations,
  fact,
  values = NOTHING,
}: {
  operations: readonly string[];
  fact: Fact | undefined;
  values?: Values;
}) {
  return operations
    .filter((name): name is CommandName => name in routes)
    .map((name) => (
      <OperationButton
        key={name}
        operation={name}
        about={aboutOf(name, fact, values)}
        name={fact?.name}
        states={fact ? { status: fact.state, lifecycle: fact.state, condition: fact.state } : {}}
        size="small"
      />
    ));
}

/** Return the part of an operation's path that a fact, or the refused command, is about. */
function aboutOf(operation: CommandName, fact: Fact | undefined, values: Values): Values {
  const field = /\{(\w+)\}/.exec(routes[operation].path)?.[1];
  if (!field) return NOTHING;
  if (fact?.id && kindOfField(field) === fact.kind) return { [field]: fact.id };
  return values[field] === undefined ? NOTHING : { [field]: values[field] };
}
