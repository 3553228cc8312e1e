import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import { useRead, type FeedEvent } from "../../api";
import { eventText, TONES } from "../../text";
import { useAsOf, useNow, useZone, type Zone } from "../../time";
import { Panel } from "../../ui";

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
const MOST = 500;
const COMMIT_MS = 300;

type Range = "hour" | "day" | "week";

/** Show the events of a day on a time axis; moving the handle views that time. */
export function TimeBar() {
  const zone = useZone();
  const now = useNow(10_000);
  const { asOf, view } = useAsOf();
  const [range, setRange] = useState<Range>("day");
  const centre = asOf ? Date.parse(asOf) : now;
  const [since, until] = windowOf(range, centre, now, zone);
  const isOpenEnd = until >= now;
  // The end of a window that reaches to now is left out, so that the read stays the same while time passes.
  const events = useRead(
    "list_events",
    {
      since: new Date(since).toISOString(),
      ...(!isOpenEnd && { until: new Date(until).toISOString() }),
      order: "newest",
      limit: MOST,
    },
    { keep: true },
  );
  const items = useMemo(() => events.data?.items ?? [], [events.data]);
  const first = items.at(-1);
  // Empty hours before the first event of a day are left out.
  const from = range === "day" && first ? Math.max(since, Math.floor((Math.min(Date.parse(first.recordedtime), centre) - 1) / HOUR) * HOUR) : since;
  const to = Math.max(Math.min(until, now), from + MINUTE);
  const title = range === "week" ? "7 days" : zone.day(centre);
  return (
    <Panel
      title={`${title}, events of this facility`}
      note={events.data?.more ? `tall bars: abnormal · the last ${MOST} events` : "tall bars: abnormal"}
      className="time-bar"
      end={
        <>
          <label className="row">
            <span className="hidden">Length of the time axis</span>
            <select className="in" value={range} onChange={(event) => setRange(event.target.value as Range)}>
              <option value="hour">Hour</option>
              <option value="day">Day</option>
              <option value="week">Week</option>
            </select>
          </label>
          <span className="hints">
            <kbd>←</kbd> <kbd>→</kbd> one minute <kbd>Shift</kbd> one hour
          </span>
        </>
      }
    >
      <Slider from={from} to={to} now={now} at={centre} isPast={asOf !== undefined} events={items} view={view} zone={zone} />
    </Panel>
  );
}

function windowOf(range: Range, centre: number, now: number, zone: Zone): [number, number] {
  const hour = Math.floor(centre / HOUR) * HOUR;
  if (range === "hour") return [hour - HOUR / 2, hour + HOUR * 1.5];
  const start = Date.parse(zone.parse(`${zone.local(centre).slice(0, 10)}T00:00:00`) ?? new Date(hour).toISOString());
  if (range === "week") return [Math.min(start, now) - 6 * DAY, start + DAY];
  return [start, start + DAY];
}

interface SliderProps {
  from: number;
  to: number;
  now: number;
  at: number;
  isPast: boolean;
  events: readonly FeedEvent[];
  view: (moment: string | undefined) => void;
  zone: Zone;
}

function Slider({ from, to, now, at, isPast, events, view, zone }: SliderProps) {
  const track = useRef<HTMLDivElement>(null);
  const [moved, setMoved] = useState<number>();
  const commit = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(commit.current), []);
  const shown = Math.min(Math.max(moved ?? at, from), to);
  const share = (moment: number) => `${(((Math.min(Math.max(moment, from), to) - from) / (to - from)) * 100).toFixed(3)}%`;
  const go = (moment: number) => {
    setMoved(undefined);
    view(moment >= now ? undefined : new Date(Math.round(moment / 1000) * 1000).toISOString());
  };
  const under = (event: PointerEvent) => {
    const box = track.current?.getBoundingClientRect();
    return box ? from + Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * (to - from) : from;
  };
  const pressed = (event: KeyboardEvent) => {
    const size = event.shiftKey ? HOUR : MINUTE;
    const next = { ArrowLeft: shown - size, ArrowRight: shown + size, PageDown: shown - HOUR, PageUp: shown + HOUR, Home: from, End: to }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const moment = Math.min(Math.max(next, from), Math.min(to, now));
    setMoved(moment);
    clearTimeout(commit.current);
    commit.current = setTimeout(() => go(moment), COMMIT_MS);
  };
  const isShownPast = isPast || moved !== undefined;
  return (
    <div className={isShownPast ? "slide past" : "slide"}>
      <div
        ref={track}
        className="slide-track"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setMoved(under(event));
        }}
        onPointerMove={(event) => {
          if (event.currentTarget.hasPointerCapture(event.pointerId)) setMoved(under(event));
        }}
        onPointerUp={(event) => go(under(event))}
        onPointerCancel={() => setMoved(undefined)}
      >
        <div className="slide-line" />
        {isShownPast && <div className="slide-done" style={{ width: share(shown) }} />}
        <Ticks events={events} share={share} from={from} to={to} />
        <div
          className="slide-handle"
          role="slider"
          tabIndex={0}
          aria-label="Viewed time"
          aria-valuemin={from}
          aria-valuemax={to}
          aria-valuenow={shown}
          aria-valuetext={isShownPast ? zone.time(shown) : `now, ${zone.minute(shown)}`}
          style={{ left: share(shown) }}
          onKeyDown={pressed}
        >
          <span className="slide-flag">{isShownPast ? zone.time(shown) : <>now {zone.minute(shown)}</>}</span>
        </div>
      </div>
      <div className="slide-axis" aria-hidden="true">
        {marksOf(from, to).map((mark) => (
          <span key={mark} style={{ left: share(mark) }}>
            {to - from > 2 * DAY ? zone.day(mark) : zone.minute(mark)}
          </span>
        ))}
      </div>
    </div>
  );
}

function Ticks({ events, share, from, to }: { events: readonly FeedEvent[]; share: (moment: number) => string; from: number; to: number }) {
  return (
    <div aria-hidden="true">
      {events.map(({ id, type, data, recordedtime }) => {
        const moment = Date.parse(recordedtime);
        if (moment < from || moment > to) return null;
        const { isAbnormal, mark } = eventText(type, data);
        return <i key={id} className={`tick ${isAbnormal ? `tall ${TONES[mark]}` : ""}`} style={{ left: share(moment) }} />;
      })}
    </div>
  );
}

const STEPS = [5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, DAY];

/** Return the moments that are written under the axis: at most twelve round ones. */
function marksOf(from: number, to: number): number[] {
  const step = STEPS.find((each) => (to - from) / each <= 12) ?? DAY;
  const marks: number[] = [];
  for (let mark = Math.ceil(from / step) * step; mark <= to; mark += step) marks.push(mark);
  return marks;
}
