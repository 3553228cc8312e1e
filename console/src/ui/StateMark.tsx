import type { ReactNode } from "react";
import { markOf, markOfKind, stateText, TONES, type Mark, type StateSchema } from "../text/states";
import { Icon } from "./Icon";

interface Props {
  /** The word of the service, such as `Held`. */
  state?: string | null | undefined;
  /** The schema of the state, when the word alone does not tell the shape. */
  schema?: StateSchema;
  /** The kind of the object that has the state. */
  kind?: string | undefined;
  /** The shape, when there is no state of the service. */
  mark?: Mark;
  /** Follows the word: «Held · 0:20». */
  children?: ReactNode;
  as?: "text" | "chip";
}

/** Show a state as a shape and a word; colour only when it is abnormal. */
export function StateMark({ state, schema, kind, mark, children, as = "text" }: Props) {
  const shape = mark ?? (state ? (schema ? markOf(state, schema) : markOfKind(kind, state)) : "unknown");
  const tone = TONES[shape];
  const className = as === "chip" ? `chip ${tone}` : `st ${tone || "ok"}`;
  return (
    <span className={className}>
      <Icon name={shape} />
      {state ? stateText(state) : mark ? null : "Unknown"}
      {children !== undefined && state ? <span> · {children}</span> : children}
    </span>
  );
}
