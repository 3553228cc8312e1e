import type { ReactNode } from "react";
import { TONES, type Mark } from "../text/states";
import { Icon, type IconName } from "./Icon";

interface Props {
  mark?: Mark;
  icon?: IconName;
  title?: ReactNode;
  end?: ReactNode;
  children?: ReactNode;
}

/** Set something off from its surroundings, in the colour of its state. */
export function Callout({ mark = "info", icon, title, end, children }: Props) {
  const tone = TONES[mark];
  return (
    <div className={`callout ${tone}`}>
      {title !== undefined && (
        <div className="row">
          <Icon name={icon ?? mark} className={tone} />
          <b className="b">{title}</b>
          {end !== undefined && <span className="end dim sm">{end}</span>}
        </div>
      )}
      {children !== undefined && <div className={title === undefined ? "sm" : "sm callout-text"}>{children}</div>}
    </div>
  );
}
