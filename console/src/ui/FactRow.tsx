import type { ReactNode } from "react";
import type { Fact } from "../api/problems";
import { useNow } from "../time/clock";
import { useZone } from "../time/zone";
import { factState, markOfFact } from "../text/facts";
import { TONES } from "../text/states";
import { Icon } from "./Icon";
import { ObjectName } from "./ObjectName";

/** One fact that caused a refusal: an object and its state, with what clears it. */
export function FactRow({ fact, lead, note, actions }: { fact: Fact; lead?: string; note?: ReactNode; actions?: ReactNode }) {
  const zone = useZone();
  const now = useNow(0);
  const mark = markOfFact(fact);
  const shape = mark === "normal" || mark === "info" ? "blocks" : mark;
  return (
    <div className="fact">
      <Icon name={shape} className={TONES[shape] || "dim"} />
      <span>
        {lead && `${lead} `}
        <ObjectName id={fact.id ?? "?"} kind={fact.kind} name={nameOf(fact)} plain /> is {factState(fact)}
        {fact.until && <span className="dim"> until {zone.stamp(fact.until, now)}</span>}
        {note !== undefined && <span className="sm dim under">{note}</span>}
      </span>
      <span className="row">{actions}</span>
    </div>
  );
}

/** Some objects have no name of their own, such as copies; the service then tells only their kind. */
const nameOf = ({ name, kind }: Fact) => (name as string | null | undefined) ?? `This ${(kind ?? "object").toLowerCase()}`;
