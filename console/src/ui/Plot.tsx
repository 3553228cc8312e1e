/** Values over time. The canvas has a text summary and a table with the same values. */
import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { plural, quantity } from "../text/units";
import { useZone, type Zone } from "../time/zone";
import { gapsIn, lonely, tickLabels, withGaps, type PlotSeries } from "./series";

export type { PlotSeries } from "./series";

export interface Shade {
  from: number;
  to: number;
  tone: "warn" | "alarm" | "unk" | "act";
}

interface Props {
  series: PlotSeries;
  height?: number;
  /** Shaded times, in seconds, such as those in which a run was held. */
  shades?: readonly Shade[];
  /** The time axis, in seconds, up to now for what continues (default: the times of the series). */
  range?: readonly [number, number] | undefined;
  hideTimes?: boolean;
  /** Leave out the cursor, where one stands over several plots. */
  hideCursor?: boolean;
  /** Fill the area from zero and leave out the axis of values, which stand next to the plot. */
  isArea?: boolean;
}

const MOST_ROWS = 50;
const HALF_LABEL = 40;
/** The room of labels with ten figures; a longer label takes more. */
const [AXIS_WIDTH, FIGURE_WIDTH, GAP] = [76, 7, 14];

export function Plot({ series: given, height = 120, shades = [], range, hideTimes = false, hideCursor = false, isArea = false }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [isTable, setTable] = useState(false);
  const zone = useZone();
  const until = range?.[1];
  const series = useMemo(() => withGaps(given, until), [given, until]);
  const summary = useMemo(() => summaryOf(series), [series]);

  useEffect(() => {
    const box = place.current;
    if (!box) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(box);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const box = place.current;
    if (!box || width === 0) return;
    const style = getComputedStyle(box);
    const token = (name: string) => style.getPropertyValue(`--${name}`).trim();
    const axis = { stroke: token("ink-2"), grid: { stroke: token("line"), width: 1 }, ticks: { show: false }, font: "12px Inter Variable" };
    const hasEnvelope = series.minimum && series.maximum;
    const alone = lonely(series.values);
    const points = { show: false, size: 4, fill: token("plot"), ...(alone.length > 0 && { filter: alone }) };
    const line: uPlot.Series = { stroke: token("plot"), width: 1.5, points, ...(isArea && { fill: `${token("plot")}22` }) };
    const edge: uPlot.Series = { stroke: "transparent", points: { show: false } };
    const options: uPlot.Options = {
      width,
      height,
      legend: { show: false },
      // The same for all plots, so that those with one time axis are aligned.
      padding: [8, 12, hideTimes ? 8 : 0, 0],
      cursor: hideCursor ? { show: false } : { y: false, points: { size: 6 }, drag: { x: false } },
      scales: {
        x: { time: true, ...(range && { range: [range[0], range[1]] as [number, number] }) },
        ...(isArea && { y: { range: (_: uPlot, least: number, most: number) => [Math.min(0, least), Math.max(0, most) * 1.12 || 1] as [number, number] } }),
      },
      ...(isArea && { padding: [0, 0, 0, 0] as [number, number, number, number] }),
      axes: [
        {
          ...axis,
          show: !hideTimes,
          size: isArea ? 26 : 32,
          space: 96,
          values: (plot, ticks) =>
            ticks.map((tick) => {
              const at = plot.valToPos(tick, "x");
              // Without an axis of values there is no room next to the plot for half a label.
              const isCut = isArea && Math.min(at, width - at) < HALF_LABEL;
              return isCut ? "" : tickText(tick, (ticks[1] ?? 0) - (ticks[0] ?? 0), zone);
            }),
        },
        {
          ...axis,
          show: !isArea,
          // uPlot has no labels yet when it asks first.
          size: (_, labels: readonly string[] | null) => Math.max(AXIS_WIDTH, ...(labels ?? []).map((label) => label.length * FIGURE_WIDTH + GAP)),
          values: (_, ticks) => tickLabels(ticks),
        },
      ],
      series: [{}, line, ...(hasEnvelope ? [edge, edge] : [])],
      ...(hasEnvelope && { bands: [{ series: [3, 2] as [number, number], fill: `${token("plot-2")}55` }] }),
      hooks: {
        drawClear: [
          (plot) => {
            for (const { from, to, tone } of shades) {
              const [left, right] = [plot.valToPos(from, "x", true), plot.valToPos(to, "x", true)];
              plot.ctx.fillStyle = `${token(tone)}14`;
              plot.ctx.fillRect(left, plot.bbox.top, right - left, plot.bbox.height);
            }
          },
        ],
      },
    };
    const data = [series.times, series.values, ...(hasEnvelope ? [series.minimum, series.maximum] : [])];
    const plot = new uPlot(options, data as unknown as uPlot.AlignedData, box);
    return () => plot.destroy();
  }, [height, hideCursor, hideTimes, isArea, range, series, shades, width, zone]);

  return (
    <figure className="plot">
      <div ref={place} role="img" aria-label={summary} style={{ height }} hidden={isTable} />
      {isTable && (
        <table>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col" className="r">
                {series.name}
              </th>
            </tr>
          </thead>
          <tbody>
            {rowsOf(series).map(([time, value]) => (
              <tr key={time}>
                <td>{zone.time(time * 1000)}</td>
                <td className="r">{value === null ? "none" : quantity(value, series.unit)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <figcaption>
        <span className="hidden">{summary}</span>
        <button type="button" className="btn quiet s table-switch" onClick={() => setTable(!isTable)}>
          {isTable ? "Plot" : "Table"}
        </button>
      </figcaption>
    </figure>
  );
}

/** Return a time as precisely as ticks at this distance, in seconds, need it. */
export function tickText(tick: number, distance: number, zone: Zone): string {
  if (distance >= 60) return zone.minute(tick * 1000);
  if (distance >= 1 || distance <= 0) return zone.time(tick * 1000);
  const [digits, thousandths] = [distance >= 0.1 ? 1 : distance >= 0.01 ? 2 : 3, Math.round(tick * 1000)];
  return `${zone.time(thousandths)}.${String(((thousandths % 1000) + 1000) % 1000)
    .padStart(3, "0")
    .slice(0, digits)}`;
}

function summaryOf({ name, unit, values }: PlotSeries): string {
  const known = values.filter((value): value is number => value !== null);
  if (known.length === 0) return `${name}: no values.`;
  let [least, most] = [Infinity, -Infinity];
  for (const value of known) [least, most] = [Math.min(least, value), Math.max(most, value)];
  const [last, gaps] = [known.at(-1) ?? 0, gapsIn(values)];
  return `${name}: ${known.length} values from ${quantity(least, unit)} to ${quantity(most, unit)}, last ${quantity(last, unit)}${gaps > 0 ? `, with ${plural(gaps, "gap")}` : ""}.`;
}

/** Return at most fifty values, evenly spread. */
function rowsOf({ times, values }: PlotSeries): [number, number | null][] {
  const step = Math.max(1, Math.ceil(times.length / MOST_ROWS));
  return times.flatMap((time, index) => (index % step === 0 ? [[time, values[index] ?? null] as [number, number | null]] : []));
}
