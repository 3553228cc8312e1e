import type { ReactNode } from "react";
import { stateText, TONES, type Mark } from "../text/states";
import { Icon } from "./Icon";

export interface Step {
  index: number;
  /** `setpoint`, `action`, `check`, `capture` or `compute`. */
  kind: string;
  text: ReactNode;
  /** The address of the control system. */
  address?: string | undefined;
  mark: Mark;
  /** The word next to the shape. */
  outcome: string;
  attempt?: number | undefined;
  at?: ReactNode;
  note?: ReactNode;
  isCurrent?: boolean;
}

/** The steps of a procedure in order, each with its outcome; closing steps have letters. */
export function StepList({ steps, label, isLettered = false }: { steps: readonly Step[]; label: string; isLettered?: boolean }) {
  return (
    <ol className="steps" aria-label={label}>
      {steps.map((step) => (
        <li key={step.index} className={rowClass(step)} aria-current={step.isCurrent ? "step" : undefined}>
          <span className="dim r">{isLettered ? String.fromCharCode(97 + step.index) : step.index + 1}</span>
          <Icon name={step.mark} className={TONES[step.mark] || "dim"} />
          <span className="dim">{stateText(step.kind)}</span>
          <div>
            <div className="what">
              <b className="b">{step.text}</b> {step.address && <code className="dim">{step.address}</code>}
            </div>
            {step.note !== undefined && <div className="dim sm">{step.note}</div>}
          </div>
          <div className="dim sm r">
            <div>
              <span className={step.mark === "unknown" ? "unk b" : ""}>{step.outcome}</span>
              {step.at !== undefined && <> · {step.at}</>}
            </div>
            {step.attempt !== undefined && (step.attempt > 1 || step.mark === "unknown") && <div>attempt {step.attempt}</div>}
          </div>
        </li>
      ))}
    </ol>
  );
}

function rowClass({ mark, isCurrent }: Step): string {
  if (mark === "unknown") return "doubt";
  if (mark === "blocks") return "failed";
  return isCurrent ? "now" : mark === "pending" ? "later" : "";
}
