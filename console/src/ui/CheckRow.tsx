import type { ReactNode } from "react";
import { Icon } from "./Icon";

interface Props {
  name: string;
  /** Whether the check passes; undefined when nobody knows. */
  passes: boolean | undefined;
  /** What the check found. */
  children?: ReactNode;
  /** The actions that clear it. */
  actions?: ReactNode;
}

/** One start check; a failing one shows its facts and the actions that clear it. */
export function CheckRow({ name, passes, children, actions }: Props) {
  const mark = passes === undefined ? "unknown" : passes ? "normal" : "blocks";
  const word = passes === undefined ? "unknown" : passes ? "passes" : "fails";
  return (
    <li className={passes === undefined ? "unk" : passes ? "" : "no"}>
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
