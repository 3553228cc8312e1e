/** Lanes and plots of a run on one time axis, with one cursor. */
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { useRead, type Answer } from "../../api";
import { number, plural, quantity, unitSymbol } from "../../text/units";
import { stateText, TONES } from "../../text/states";
import { counter, useAsOf, useZone, utc } from "../../time";
import { ActionButton, Failure, Lanes, Panel, Popover, type Lane, type Span } from "../../ui";
import { Plot, type Shade } from "../../ui/Plot";
import { withGaps, type PlotSeries } from "../../ui/series";
import { indexAt, spanAt } from "./spans";
import { useLanes } from "./useLanes";

type Run = Answer<"get_run">;
type Channel = Answer<"get_run_observation_summary">["channels"][number];
type Range = readonly [from: number, to: number];

const MOST_PLOTS = 6;
const MARGIN = 0.03;
const POINTS = 800;
/** The least part of the axis that a drag must cover to be a choice of a time. */
const LEAST_DRAG = 0.01;
const [LEAST_HEIGHT, MOST_HEIGHT, ALL_HEIGHTS] = [104, 168, 390];
const AXIS_HEIGHT = 24;

interface Props {
  run: Run;
  spans: readonly Span[];
  /** The end of what is shown: the end of the run, or the viewed time. */
  end: number;
  /** The kinds of supply that the method needs. */
  supplyKinds: readonly string[];
  enclosureIds: readonly string[];
  /** Shown above the lanes, such as that no observation came for long. */
  lead?: ReactNode;
}

export function Timeline({ run, spans, end, supplyKinds, enclosureIds, lead }: Props) {
  const summary = useRead("get_run_observation_summary", { run_id: run.run_id });
  const { asOf } = useAsOf();
  const [hidden, setHidden] = useState<readonly string[]>([]);
  const [zoom, setZoom] = useState<Range>();
  const channels = useMemo(() => summary.data?.channels ?? [], [summary.data]);
  const shown = useMemo(() => channels.filter(({ channel_name }) => !hidden.includes(channel_name)).slice(0, MOST_PLOTS), [channels, hidden]);
  const begin = Date.parse(run.created_at);
  const margin = Math.max(500, (end - begin) * MARGIN);
  const [from, to] = zoom ?? [begin - margin, end + margin];
  const { lanes, isCut } = useLanes({ run, supplyKinds, enclosureIds, until: end });
  const own = ownLane(spans, run.ended_at !== null, end);
  const read = useRead(
    "get_run_series",
    {
      run_id: run.run_id,
      channel_name: shown.map(({ channel_name }) => channel_name),
      points: POINTS,
      ...(zoom && { from: new Date(from).toISOString() }),
      ...(zoom ? { to: new Date(Math.min(to, end)).toISOString() } : asOf && { to: asOf }),
    },
    { keep: true, when: shown.length > 0 },
  );
  const until = Math.min(to, end) / 1000;
  const series = useMemo(() => shown.map((channel) => withGaps(seriesOf(channel, read.data), until)), [read.data, shown, until]);
  const shades = useMemo<Shade[]>(
    () => own.spans.filter(({ mark }) => mark === "held").map((span) => ({ from: span.from / 1000, to: (span.to ?? end) / 1000, tone: "warn" })),
    // The lane is made anew with every tick of the clock; its spans are not.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [spans, end],
  );
  const range = useMemo(() => [from / 1000, to / 1000] as const, [from, to]);
  const count = channels.reduce((sum, channel) => sum + channel.count, 0);
  const height = Math.max(LEAST_HEIGHT, Math.min(MOST_HEIGHT, Math.floor(ALL_HEIGHTS / Math.max(1, shown.length))));
  return (
    <Panel
      title="Timeline"
      note={noteOf(channels.length, count, asOf !== undefined, isCut)}
      end={
        <>
          {channels.length > 1 && <Channels channels={channels} hidden={hidden} change={setHidden} />}
          {zoom && (
            <ActionButton look="quiet" size="small" press={() => setZoom(undefined)}>
              Whole run
            </ActionButton>
          )}
        </>
      }
    >
      {lead}
      <div className="timeline">
        <Lanes label="States over time" from={from} to={to} lanes={[own, ...lanes]} />
        {summary.problem && <Failure problem={summary.problem} what="observations" operation="get_run_observation_summary" again={summary.again} />}
        {read.problem && <Failure problem={read.problem} what="the plots" operation="get_run_series" again={read.again} />}
        {summary.data && channels.length === 0 && <p className="dim sm">No observation was recorded for this run.</p>}
        {shown.map((channel, index) => {
          const isLast = index === shown.length - 1;
          return <ChannelPlot key={channel.channel_name} channel={channel} series={series[index]} shades={shades} range={range} height={isLast ? height + AXIS_HEIGHT : height} isLast={isLast} />;
        })}
        <Cursor from={from} to={to} until={end} lanes={[own, ...lanes]} series={series} choose={setZoom} />
      </div>
    </Panel>
  );
}

function noteOf(channels: number, count: number, isPast: boolean, isCut: boolean): string | undefined {
  const told = [
    ...(channels > 0 ? [`${plural(channels, "channel")}, ${plural(count, "observation")}${isPast ? " (current count)" : ""}`] : []),
    ...(isCut ? ["later events of supplies and hutches are left out"] : []),
  ];
  return told.length > 0 ? told.join(" · ") : undefined;
}

/** Return the lane of the run itself: its end is a mark, not a bar. */
function ownLane(spans: readonly Span[], isEnded: boolean, end: number): Lane {
  const last = isEnded ? spans.at(-1) : undefined;
  const lasting = last ? spans.slice(0, -1) : spans;
  return {
    name: "Run",
    spans: lasting.map((span) => ({ ...span, to: span.to ?? end, ...(span.mark === "held" && { note: counter((span.to ?? end) - span.from) }) })),
    ...(last && { end: { at: last.from, state: last.state, mark: last.mark } }),
  };
}

function seriesOf({ channel_name: name, unit }: Channel, answer: Answer<"get_run_series"> | undefined): PlotSeries {
  const points = answer?.channels.find(({ channel_name }) => channel_name === name);
  return {
    name,
    unit: unit?.code,
    times: (points?.times ?? []).map((time) => Date.parse(time) / 1000),
    values: points?.last ?? [],
    minimum: points?.minimum,
    maximum: points?.maximum,
  };
}

function Channels({ channels, hidden, change }: { channels: readonly Channel[]; hidden: readonly string[]; change: (hidden: readonly string[]) => void }) {
  return (
    <Popover
      label="Channels"
      align="right"
      button={({ isOpen, toggle, id }) => (
        <ActionButton look="quiet" size="small" icon="down" press={toggle} opens={{ isOpen, id }}>
          Channels
        </ActionButton>
      )}
    >
      {() => (
        <div className="pad stack">
          {channels.map(({ channel_name }) => (
            <label key={channel_name} className="row sm">
              <input
                type="checkbox"
                checked={!hidden.includes(channel_name)}
                onChange={(event) => change(event.target.checked ? hidden.filter((each) => each !== channel_name) : [...hidden, channel_name])}
              />
              {channel_name}
            </label>
          ))}
          <p className="dim xs">The first {MOST_PLOTS} chosen channels are plotted.</p>
        </div>
      )}
    </Popover>
  );
}

interface ChannelProps {
  channel: Channel;
  series: PlotSeries | undefined;
  shades: readonly Shade[];
  range: Range;
  height: number;
  isLast: boolean;
}

function ChannelPlot({ channel: { channel_name: name, unit, simulated }, series, shades, range, height, isLast }: ChannelProps) {
  const last = series?.values.findLast((value) => value !== null);
  return (
    <div className="channel-row">
      <div>
        <b className="b cut" title={name}>
          {name}
        </b>
        <span className="dim sm">{unitSymbol(unit?.code)}</span>
        {simulated && <span className="chip">Simulated</span>}
        <span className="last">{typeof last === "number" ? number(last) : ""}</span>
      </div>
      {series && <Plot series={series} height={height} shades={shades} range={range} hideTimes={!isLast} hideCursor />}
    </div>
  );
}

interface CursorProps {
  from: number;
  to: number;
  until: number;
  lanes: readonly Lane[];
  series: readonly PlotSeries[];
  /** Called with a time that was chosen by a drag. */
  choose: (range: Range) => void;
}

/** One line over all lanes and plots, with what they show at its time. */
function Cursor({ from, to, until, lanes, series, choose }: CursorProps) {
  const area = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number>();
  const [began, setBegan] = useState<number>();
  const zone = useZone();
  const latest = useRef({ from, to, began, choose });
  useEffect(() => {
    latest.current = { from, to, began, choose };
  });

  useEffect(() => {
    const box = area.current;
    const around = box?.parentElement;
    if (!box || !around) return;
    const timeOf = ({ clientX }: PointerEvent): number | undefined => {
      const { left, width } = box.getBoundingClientRect();
      const part = (clientX - left) / Math.max(1, width);
      return part < 0 || part > 1 ? undefined : latest.current.from + part * (latest.current.to - latest.current.from);
    };
    const moved = (event: PointerEvent) => setAt(timeOf(event));
    const left = () => {
      setAt(undefined);
      setBegan(undefined);
    };
    const pressed = (event: PointerEvent) => {
      if (event.button !== 0 || (event.target as Element).closest("button, table")) return;
      // Text is not selected by a drag over the plots.
      event.preventDefault();
      setBegan(timeOf(event));
    };
    const released = (event: PointerEvent) => {
      const { from: low, to: high, began: one } = latest.current;
      const other = timeOf(event);
      setBegan(undefined);
      if (one !== undefined && other !== undefined && Math.abs(one - other) > (high - low) * LEAST_DRAG) latest.current.choose([Math.min(one, other), Math.max(one, other)]);
    };
    around.addEventListener("pointermove", moved);
    around.addEventListener("pointerleave", left);
    around.addEventListener("pointerdown", pressed);
    around.addEventListener("pointerup", released);
    return () => {
      around.removeEventListener("pointermove", moved);
      around.removeEventListener("pointerleave", left);
      around.removeEventListener("pointerdown", pressed);
      around.removeEventListener("pointerup", released);
    };
  }, []);

  const key = (event: KeyboardEvent) => {
    const step = (event.shiftKey ? 0.1 : 0.01) * (to - from);
    const now = at ?? from;
    const next = { ArrowLeft: now - step, ArrowRight: now + step, Home: from, End: until }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setAt(Math.min(to, Math.max(from, next)));
  };
  const place = (moment: number) => `${((moment - from) / Math.max(1, to - from)) * 100}%`;
  const told = at === undefined ? [] : toldAt(at, lanes, series);
  const isShown = at !== undefined && at >= from && at <= to;
  return (
    <div
      ref={area}
      className="cursor"
      role="slider"
      tabIndex={0}
      aria-label="Time on the plots"
      aria-valuemin={from}
      aria-valuemax={to}
      aria-valuenow={at ?? from}
      aria-valuetext={at === undefined ? "No time chosen" : `${zone.time(at)}: ${told.map(({ name, text }) => `${name} ${text}`).join(", ")}`}
      onKeyDown={key}
      onBlur={() => setAt(undefined)}
    >
      {isShown && began !== undefined && <div className="chosen" style={{ left: place(Math.min(began, at)), width: `${(Math.abs(at - began) / Math.max(1, to - from)) * 100}%` }} />}
      {isShown && (
        <div className="at" style={{ left: place(at) }}>
          <div className={at - from > (to - from) * 0.6 ? "readings left" : "readings"}>
            <div>
              <b className="b">{zone.time(at)}</b> <span className="dim">{utc(at)}</span>
            </div>
            {told.map(({ name, text, tone }) => (
              <div key={name} className="reading">
                <span className="dim">{name}</span> <span className={tone}>{text}</span>
              </div>
            ))}
          </div>
        </div>
      )}
    </div>
  );
}

/** Return what the lanes and plots show at a moment. */
function toldAt(at: number, lanes: readonly Lane[], series: readonly PlotSeries[]): { name: string; text: string; tone: string }[] {
  return [
    ...lanes.flatMap(({ name, spans }) => {
      const span = spanAt(spans, at);
      return span ? [{ name, text: stateText(span.state), tone: TONES[span.mark] }] : [];
    }),
    ...series.map(({ name, unit, times, values }) => {
      const value = values[indexAt(times, at / 1000)];
      return { name, text: typeof value === "number" ? quantity(value, unit) : "no value", tone: "" };
    }),
  ];
}
