import { stateText, TONES, type Mark } from "../text/states";
import { useZone } from "../time/zone";
import { Icon } from "./Icon";

export interface Span {
  from: number;
  /** Undefined while it lasts. */
  to: number | undefined;
  state: string;
  mark: Mark;
  /** Follows the word, such as a duration. */
  note?: string;
}
export interface Lane {
  name: string;
  spans: readonly Span[];
  /** The last state, when it is an end and not a time. */
  end?: { at: number; state: string; mark: Mark };
}

/** States over time, one lane for each object, all on one time axis. */
export function Lanes({ lanes, from, to, label }: { lanes: readonly Lane[]; from: number; to: number; label: string }) {
  const zone = useZone();
  const place = (moment: number) => `${((Math.min(Math.max(moment, from), to) - from) / Math.max(1, to - from)) * 100}%`;
  return (
    <div className="lanes" role="group" aria-label={label}>
      {lanes.map(({ name, spans, end: last }) => (
        <div key={name} className="lane">
          <b className="b cut" title={name}>
            {name}
          </b>
          <ol className="track">
            {spans
              .filter((span) => span.from < to && (span.to ?? to) > from)
              .map((span) => {
                const end = span.to ?? to;
                return (
                  <li
                    key={`${span.from} ${span.state}`}
                    className={`span ${TONES[span.mark]}`}
                    style={{ left: place(span.from), width: `calc(${place(end)} - ${place(span.from)})` }}
                    title={`${name} ${stateText(span.state)}, ${zone.time(span.from)} to ${span.to === undefined ? "now" : zone.time(end)}`}
                  >
                    <span className="cut">
                      {stateText(span.state)}
                      {span.note && ` ${span.note}`}
                    </span>
                  </li>
                );
              })}
            {last && last.at >= from && last.at < to && (
              <li className={`lane-end ${TONES[last.mark] || "dim"}`} style={{ left: place(last.at) }} title={`${name} ${stateText(last.state)}, ${zone.time(last.at)}`}>
                <Icon name={last.mark} />
                <span className="hidden">{stateText(last.state)}</span>
              </li>
            )}
          </ol>
        </div>
      ))}
    </div>
  );
}
