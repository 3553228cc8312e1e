import type { ReactNode } from "react";
import { Icon } from "./Icon";

interface Props {
  name: string;
  /** Whether the check passes; undefined when nobody knows. */
  passes: boolean | undefined;
  /** Whether a check that passes has found something to look at. */
  isCaution?: boolean;
  /** What the check found. */
  children?: ReactNode;
  /** The actions that clear it. */
  actions?: ReactNode;
}

/** One start check; a failing one shows its facts and the actions that clear it. */
export function CheckRow({ name, passes, isCaution = false, children, actions }: Props) {
  const mark = passes === undefined ? "unknown" : !passes ? "blocks" : isCaution ? "caution" : "normal";
  const word = passes === undefined ? "unknown" : !passes ? "fails" : isCaution ? "passes with a fault" : "passes";
  return (
    <li className={passes === undefined ? "unk" : !passes ? "no" : isCaution ? "look" : ""}>
      <Icon name={mark} />
      <b className="b">
        {name}
        <span className="hidden"> {word}</span>
      </b>
      <span className={passes ? "dim cut" : "dim"}>{children}</span>
      {actions !== undefined && <span className="row wrap">{actions}</span>}
    </li>
  );
}
