import type { ReactNode } from "react";
import { eventText, reasonIn } from "../text/events";
import { TONES, type Mark } from "../text/states";
import { useNow } from "../time/clock";
import { useZone } from "../time/zone";
import { Icon } from "./Icon";

interface Props {
  /** The type of the event, such as `RunHeld` or `beamkeep.RunHeld`. */
  type: string;
  at: string;
  /** The name of the object. */
  subject?: ReactNode;
  data?: Record<string, unknown>;
  /** The shape, for a line that is no event. */
  mark?: Mark | undefined;
  /** Who or what caused it, or another second line. */
  note?: ReactNode;
  /** Whether what it reports is over: it keeps its shape and loses its colour. */
  isCleared?: boolean;
  /** Whether it came in the last seconds: it is outlined. */
  isNew?: boolean;
  /** Whether it happened after the viewed time. */
  isLater?: boolean;
}

/** One event as a line; put lines in `<ul className="lines">`. */
export function EventLine({ type, at, subject, data = {}, mark: given, note, isCleared = false, isNew = false, isLater = false }: Props) {
  const zone = useZone();
  const now = useNow(0);
  const { text, mark: usual } = eventText(type, data);
  const mark = given ?? usual;
  const reason = reasonIn(data);
  return (
    <li className={`${isNew ? "new" : ""} ${isLater ? "later" : ""}`}>
      <time dateTime={at}>{zone.stamp(at, now)}</time>
      <Icon name={mark} className={isCleared || isLater ? "" : TONES[mark]} />
      <div>
        {subject !== undefined && <b className="b">{subject}</b>} {subject === undefined ? capital(text) : text}
        {(note !== undefined || reason) && (
          <div className="dim">
            {note}
            {note !== undefined && reason ? ": " : null}
            {reason}
          </div>
        )}
      </div>
    </li>
  );
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
