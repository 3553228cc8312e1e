import { useNow } from "../time/clock";
import { length } from "../time/duration";

export type Remaining = { text: string; tone: "" | "warn" | "alarm" };

const HOUR = 3_600_000;

/** Return the time until a moment: amber under an hour, red when it has passed. */
export function remaining(until: string, now: number): Remaining {
  const left = Date.parse(until) - now;
  if (left <= 0) return { text: "Ended", tone: "alarm" };
  return { text: length(left), tone: left < HOUR ? "warn" : "" };
}

/** Count down by the clock of the service; seconds are shown in the last ten minutes. */
export function Countdown({ until }: { until: string }) {
  const now = useNow(1000);
  const { text, tone } = remaining(until, now);
  return <span className={tone}>{text}</span>;
}
