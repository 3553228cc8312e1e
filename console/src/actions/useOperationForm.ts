/** One command from its form to its outcome: values, dry run, confirmation, answer. */
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState, type ReactNode } from "react";
import { useAction, type ActionState, type Arguments, type CommandName, type Sent } from "../api";
import type { Problem } from "../api/problems";
import { useCatalogue } from "../api/useCatalogue";
import { useMay } from "../auth";
import { affectedBy } from "../api/invalidation";
import { abnormalFacts, ENDINGS, fieldLabel, operationOn, operationTitle, type Ending } from "../text";
import { unasked, type DomainSchema, type Values } from "../ui";
import { announce } from "../view";
import { ASKED, despite } from "./asking";
import { isFinal } from "./moves";
import { useDeclared } from "./useDeclared";
import { usePick } from "./usePick";

const DRY_RUN_MS = 250;
const NOTHING: Values = {};
const IDLE: ActionState = { phase: "idle" };
const NO_ERRORS: Record<string, string> = {};
/** What a command of a site says that ends something. */
const OF_A_SITE: Ending = { does: "The object ends here.", isForGood: true };

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

/** Return the values of the form of a command, how far the command is, and what to do next. */
export function useOperationForm({ operation, about = NOTHING, initial = NOTHING, name, etag, isTerminal, domain, done }: OperationFormProps) {
  const { operations, schemas } = useCatalogue();
  const described = operations[operation];
  const action = useAction(operation);
  const { dryRun, send, state } = action;
  const may = useMay();
  const pick = usePick();
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
  const ending = isTerminal === false ? undefined : (ENDINGS[operation] ?? (isFinal(operation) ? OF_A_SITE : undefined));
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

  return {
    fields: {
      fields,
      required: isAsked && answered ? [...required, answered.field] : required,
      schemas,
      values: own,
      change: setOwn,
      pick,
      wrong,
      hidden: Object.keys(about),
      domain: { ...declared, ...domain },
    },
    values,
    note,
    setNote,
    isProposal,
    ending,
    isLast,
    title,
    /** What stands above the facts in spite of which the command continues. */
    despite: answered && ignored.length > 0 ? answered.despite : undefined,
    ignored,
    state,
    isChecked,
    reason: reasonAgainst(isChecked ? state : IDLE, offer.reason, missing),
    confirm,
    repeat: check,
    reload,
  };
}

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
