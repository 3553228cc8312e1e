/** Lanes and plots of a run on one time axis, with one cursor. */
import { useMemo, useState, type ReactNode } from "react";
import { useRead, type Answer } from "../../api";
import { number, plural, unitSymbol } from "../../text/units";
import { counter, useAsOf } from "../../time";
import { ActionButton, Failure, Lanes, Panel, Popover, type Lane, type Span } from "../../ui";
import { Plot, type Shade } from "../../ui/Plot";
import { withGaps, type PlotSeries } from "../../ui/series";
import { useLanes } from "./useLanes";
import { Cursor, type Range } from "./Cursor";

type Run = Answer<"get_run">;
type Channel = Answer<"get_run_observation_summary">["channels"][number];
const MOST_PLOTS = 6;
const MARGIN = 0.03;
const POINTS = 800;
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
    // The lane is made again with every tick of the clock; its spans are not.
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
          return (
            <ChannelPlot
              key={channel.channel_name}
              channel={channel}
              series={series[index]}
              shades={shades}
              range={range}
              height={isLast ? height + AXIS_HEIGHT : height}
              isLast={isLast}
            />
          );
        })}
        <Cursor from={from} to={to} until={end} lanes={[own, ...lanes]} series={series} choose={setZoom} />
      </div>
    </Panel>
  );
}

function noteOf(channels: number, count: number, isPast: boolean, isCut: boolean): string | undefined {
  const parts = [
    ...(channels > 0 ? [`${plural(channels, "channel")}, ${plural(count, "observation")}${isPast ? " (current count)" : ""}`] : []),
    ...(isCut ? ["later events of supplies and hutches are left out"] : []),
  ];
  return parts.length > 0 ? parts.join(" · ") : undefined;
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
