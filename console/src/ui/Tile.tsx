import type { ReactNode } from "react";
import { TONES, type Mark } from "../text/states";
import { Icon, type IconName } from "./Icon";

interface Props {
  icon: IconName;
  label: ReactNode;
  /** One word or number that is read from two metres. */
  value: ReactNode;
  /** One line beneath. */
  note?: ReactNode;
  mark?: Mark;
  /** Set when the feed is lost: the time of the value. */
  asOf?: string | undefined;
  id?: string;
}

/** One state of a beamline, readable from two metres. */
export function Tile({ icon, label, value, note, mark = "normal", asOf, id }: Props) {
  const tone = TONES[mark] === "act" ? "" : TONES[mark];
  return (
    <section className={`tile ${tone}`} id={id} tabIndex={-1}>
      <h2 className="l">
        <Icon name={icon} />
        <span className="cut">{label}</span>
        <Icon name={mark} className={`g ${tone || "ok"}`} />
      </h2>
      <div className="v">{asOf ? <span className="old-value">{value}</span> : value}</div>
      <div className="f cut">
        {note}
        {asOf && <span className="unk"> · as of {asOf}</span>}
      </div>
    </section>
  );
}
