/** What a refusal asks for before the same command may continue. */
import type { CommandName } from "../api/names";
import type { Fact } from "../api/problems";
import { routes } from "../api/routes";
import { kindOfField } from "../text/fields";

/** A field of the refused command that lets it continue. */
export interface Asked {
  field: string;
  /** What the field must say. */
  request: string;
  /** What stands above the facts once the command continues in spite of them. */
  despite: string;
  /** The field of the event with these facts. */
  recorded: string;
}

/** The refusals that a field of the same command answers, by their code. */
export const ASKED: Partial<Record<string, Asked>> = {
  RunResumeRequiresAcknowledgementError: {
    field: "acknowledgement",
    request: "Clear what is in the way, or write here why the run continues all the same.",
    despite: "The run continues although this is in the way:",
    recorded: "acknowledged",
  },
};

/** Return the facts in spite of which a command continues, by the events of its dry run. */
export function despite(facts: readonly Fact[], { recorded }: Asked, events: readonly { payload?: Record<string, unknown> | null }[]): Fact[] {
  const ids = new Set(events.flatMap(({ payload }) => (Array.isArray(payload?.[recorded]) ? (payload[recorded] as { id?: unknown }[]) : [])).map(({ id }) => id));
  return facts.filter(({ id }) => ids.has(id));
}

/** Return the kind of object that an operation is about, by its path. */
function kindOf(operation: string): string | undefined {
  const path = (routes as Partial<Record<string, { path: string }>>)[operation]?.path ?? "";
  const field = /\{(\w+)\}/.exec(path)?.[1];
  return field && kindOfField(field);
}

/** Return the operations that clear one of several facts: those on the kind of another fact are not among them. */
export function clearing(operations: readonly string[], fact: Fact, facts: readonly Fact[]): CommandName[] {
  const others = new Set(facts.map(({ kind }) => kind).filter((kind) => kind !== fact.kind));
  return operations.filter((name): name is CommandName => name in routes && !others.has(kindOf(name)));
}
