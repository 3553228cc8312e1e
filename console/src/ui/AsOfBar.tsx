import { useNow } from "../time/clock";
import { length } from "../time/duration";
import { utc, useZone } from "../time/zone";
import { Icon } from "./Icon";

interface Props {
  asOf: string;
  view: (moment: string | undefined) => void;
  /** Go to the event before the viewed time, or to the one after it. */
  previous?: () => void;
  next?: () => void;
}

/** Say that the past is shown, and lead back to now. */
export function AsOfBar({ asOf, view, previous, next }: Props) {
  const zone = useZone();
  const now = useNow(1000);
  return (
    <div className="as-of" role="region" aria-label="Viewed time">
      <Icon name="clock" />
      <span>
        <b>Viewing {zone.stamp(asOf, now)}</b>{" "}
        <span className="dim">
          {utc(asOf)} · {length(now - Date.parse(asOf))} ago
        </span>
        <span className="readonly"> Read-only: state as recorded at that time.</span>
      </span>
      <label className="end row sm">
        <span className="hidden">Viewed time in the zone of the facility</span>
        <input
          className="in"
          type="datetime-local"
          step={1}
          value={zone.local(asOf)}
          max={zone.local(now)}
          onChange={(event) => {
            const moment = zone.parse(event.target.value);
            if (moment) view(moment);
          }}
        />
      </label>
      {previous && (
        <button type="button" className="btn quiet s" onClick={previous}>
          Previous event <kbd>[</kbd>
        </button>
      )}
      {next && (
        <button type="button" className="btn quiet s" onClick={next}>
          Next event <kbd>]</kbd>
        </button>
      )}
      <button type="button" className="btn s main-do" onClick={() => view(undefined)}>
        Back to now <kbd>Esc</kbd>
      </button>
    </div>
  );
}
