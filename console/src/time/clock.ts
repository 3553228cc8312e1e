/** The clock of the service. */
import { createContext, useContext, useEffect, useState } from "react";

/** Follows the clock of the service: a computer in a control room may be hours off. */
export class ServiceClock {
  private offset = 0;
  private isExact = false;

  /** Milliseconds since the epoch, as the service counts them. */
  now(): number {
    return Date.now() + this.offset;
  }

  /** Take the time of a response, which has whole seconds, until a beat has given it exactly. */
  heard(date: string | null): void {
    const time = date ? Date.parse(date) : NaN;
    if (!this.isExact && !Number.isNaN(time) && Math.abs(time - this.now()) > 2000) this.offset = time - Date.now();
  }

  /** Take the time of a beat of the feed. */
  beat(now: string): void {
    const time = Date.parse(now);
    if (Number.isNaN(time)) return;
    this.offset = time - Date.now();
    this.isExact = true;
  }
}

export const ClockContext = createContext(new ServiceClock());

/** Return the time of the service, renewed at this interval; 0 reads it once. */
export function useNow(everyMs = 1000): number {
  const clock = useContext(ClockContext);
  const [now, setNow] = useState(() => clock.now());
  useEffect(() => {
    if (everyMs <= 0) return;
    const timer = setInterval(() => setNow(clock.now()), everyMs);
    return () => clearInterval(timer);
  }, [clock, everyMs]);
  return now;
}

/** Return the time of this computer, renewed at this interval, for what is measured by it. */
export function useOwnNow(everyMs = 1000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
