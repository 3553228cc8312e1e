/** One line over all lanes and plots, with what they show at its time. */
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { quantity } from "../../text/units";
import { stateText, TONES } from "../../text/states";
import { useZone, utc } from "../../time";
import type { Lane } from "../../ui";
import type { PlotSeries } from "../../ui/series";
import { indexAt, spanAt } from "./spans";

export type Range = readonly [from: number, to: number];

/** The least part of the axis that a drag must cover to be a choice of a time. */
const LEAST_DRAG = 0.01;

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
export function Cursor({ from, to, until, lanes, series, choose }: CursorProps) {
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
  const readings = at === undefined ? [] : shownAt(at, lanes, series);
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
      aria-valuetext={at === undefined ? "No time chosen" : `${zone.time(at)}: ${readings.map(({ name, text }) => `${name} ${text}`).join(", ")}`}
      onKeyDown={key}
      onBlur={() => setAt(undefined)}
    >
      {isShown && began !== undefined && (
        <div className="chosen" style={{ left: place(Math.min(began, at)), width: `${(Math.abs(at - began) / Math.max(1, to - from)) * 100}%` }} />
      )}
      {isShown && (
        <div className="at" style={{ left: place(at) }}>
          <div className={at - from > (to - from) * 0.6 ? "readings left" : "readings"}>
            <div>
              <b className="b">{zone.time(at)}</b> <span className="dim">{utc(at)}</span>
            </div>
            {readings.map(({ name, text, tone }) => (
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
function shownAt(at: number, lanes: readonly Lane[], series: readonly PlotSeries[]): { name: string; text: string; tone: string }[] {
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
