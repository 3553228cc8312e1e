/** What a plot may say about readings: where nothing was read, nothing is drawn. */
import { number } from "../text/units";

export interface PlotSeries {
  name: string;
  unit?: string | null | undefined;
  /** Seconds since the epoch. */
  times: readonly number[];
  values: readonly (number | null)[];
  /** The envelope of each point, when the series is reduced. */
  minimum?: readonly (number | null)[] | undefined;
  maximum?: readonly (number | null)[] | undefined;
}

/** Readings that are this many times as far apart as usual have a gap between them. */
const FAR = 5;

/** Return how far apart readings usually are, or undefined when there are too few to tell. */
export function usualDistance(times: readonly number[]): number | undefined {
  const distances = times.slice(1).map((time, index) => time - (times[index] ?? time));
  const positive = distances.filter((each) => each > 0).sort((a, b) => a - b);
  return positive.length < 2 ? undefined : positive[positive.length >> 1];
}

/** Return a series with a point without a value in every gap, and after the last reading when that is long ago. */
export function withGaps(series: PlotSeries, until?: number): PlotSeries {
  const { times } = series;
  const usual = usualDistance(times);
  if (usual === undefined) return series;
  const isFar = (index: number) => {
    const next = times[index + 1] ?? until;
    return next !== undefined && next - (times[index] ?? next) > FAR * usual;
  };
  const spread = <T>(list: readonly T[], gap: (last: number) => T): T[] => list.flatMap((each, index) => (isFar(index) ? [each, gap((times[index] ?? 0) + usual)] : [each]));
  const nothing = () => null;
  return {
    ...series,
    times: spread(times, (last) => last),
    values: spread(series.values, nothing),
    minimum: series.minimum && spread(series.minimum, nothing),
    maximum: series.maximum && spread(series.maximum, nothing),
  };
}

/** Return the places of values that no line reaches, because there is none before and after them. */
export function lonely(values: readonly (number | null)[]): number[] {
  const isKnown = (index: number) => typeof values[index] === "number";
  return values.flatMap((_, index) => (isKnown(index) && !isKnown(index - 1) && !isKnown(index + 1) ? [index] : []));
}

/** Return how many gaps a series has between its readings. */
export function gapsIn(values: readonly (number | null)[]): number {
  const last = values.findLastIndex((value) => value !== null);
  return values.filter((value, index) => value === null && index < last && index > 0 && values[index - 1] !== null).length;
}

const MOST_DECIMALS = 6;
const LARGEST = 1e9;
/** By this part of the distance between two ticks, a label may differ from its tick. */
const SLIGHT = 1e-3;

/** Return the labels of an axis, with as many digits as tell one tick from the next. */
export function tickLabels(ticks: readonly number[]): string[] {
  const distances = ticks.slice(1).map((tick, index) => Math.abs(tick - (ticks[index] ?? tick)));
  const distance = Math.min(...distances.filter((each) => each > 0));
  if (!Number.isFinite(distance)) return ticks.map(number);
  const isExact = (write: (tick: number) => string) => ticks.every((tick) => Math.abs(Number(write(tick)) - tick) < distance * SLIGHT);
  const isLarge = ticks.some((tick) => Math.abs(tick) >= LARGEST);
  for (let decimals = 0; decimals <= MOST_DECIMALS && !isLarge; decimals += 1) {
    const format = new Intl.NumberFormat("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    if (isExact((tick) => tick.toFixed(decimals))) return ticks.map((tick) => format.format(Math.abs(tick) < distance * SLIGHT ? 0 : tick));
  }
  for (let digits = 0; digits < 15; digits += 1) if (isExact((tick) => tick.toExponential(digits))) return ticks.map((tick) => (tick === 0 ? "0" : tick.toExponential(digits)));
  return ticks.map(String);
}
