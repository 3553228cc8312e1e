const HOUR = 3_600_000;
/** The lengths of a shift that are offered, in hours; the address may have another one. */
export const LENGTHS = [8, 12, 24] as const;
export const USUAL = 12;

export interface Period {
  from: string;
  to: string;
}

/** Return the last hours, to the end of the current hour: the view is read again by events, not by the clock. */
export function lastHours(hours: number, now: number): Period {
  const end = Math.ceil(now / HOUR) * HOUR;
  return { from: new Date(end - HOUR * (hours + 1)).toISOString(), to: new Date(end).toISOString() };
}

/** Return whether a moment is in a period, its end included. */
export function isIn({ from, to }: Period, moment: unknown): boolean {
  const at = typeof moment === "string" ? Date.parse(moment) : NaN;
  return at > Date.parse(from) && at <= Date.parse(to);
}
