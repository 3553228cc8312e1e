import { useNow } from "../time/clock";
import { counter } from "../time/duration";
import { utc, useZone } from "../time/zone";

/** Show a time in the zone of the facility; `alone` adds UTC, `ago` counts. */
export function Timestamp({ at, alone = false, ago = false }: { at: string | number; alone?: boolean; ago?: boolean }) {
  const zone = useZone();
  const now = useNow(ago ? 1000 : 60_000);
  const moment = typeof at === "number" ? at : Date.parse(at);
  return (
    <time dateTime={new Date(moment).toISOString()} title={`${zone.day(moment)} ${zone.time(moment)} · ${utc(moment)}`}>
      {zone.stamp(moment, now)}
      {alone && <span className="dim"> {utc(moment)}</span>}
      {ago && <span className="dim"> · {counter(now - moment)} ago</span>}
    </time>
  );
}
