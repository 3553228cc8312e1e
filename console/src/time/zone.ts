/** Times in the zone of the facility. */
import { createContext, useContext } from "react";

type Moment = string | number;

const PARTS: Intl.DateTimeFormatOptions = {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
};

const millis = (moment: Moment): number => (typeof moment === "number" ? moment : Date.parse(moment));

/** Writes times as people at one facility read them. */
export class Zone {
  private readonly format: Intl.DateTimeFormat;
  constructor(readonly name: string) {
    let format: Intl.DateTimeFormat;
    try {
      format = new Intl.DateTimeFormat("en-GB", { ...PARTS, timeZone: name });
    } catch {
      // An unknown zone must not hide the time itself.
      format = new Intl.DateTimeFormat("en-GB", { ...PARTS, timeZone: "UTC" });
    }
    this.format = format;
  }

  private parts(moment: Moment): Record<string, string> {
    return Object.fromEntries(this.format.formatToParts(millis(moment)).map(({ type, value }) => [type, value]));
  }

  /** `09:44:18` */
  time(moment: Moment): string {
    const { hour, minute, second } = this.parts(moment);
    return `${hour}:${minute}:${second}`;
  }
  /** `09:44` */
  minute(moment: Moment): string {
    return this.time(moment).slice(0, 5);
  }
  /** `Wed 18 Nov` */
  day(moment: Moment): string {
    const { weekday, day, month } = this.parts(moment);
    return `${weekday} ${day} ${(month ?? "").slice(0, 3)}`;
  }
  isSameDay(one: Moment, other: Moment): boolean {
    const [a, b] = [this.parts(one), this.parts(other)];
    return a.day === b.day && a.month === b.month && a.year === b.year;
  }
  /** `09:43:58` on the same day, else `Tue 17 Nov, 16:20`, with the year when it is another. */
  stamp(moment: Moment, now: number): string {
    if (this.isSameDay(moment, now)) return this.time(moment);
    const [then, here] = [this.parts(moment), this.parts(now)];
    const year = then.year === here.year ? "" : ` ${then.year}`;
    return `${this.day(moment)}${year}, ${this.minute(moment)}`;
  }
  /** `2026-11-18T09:44:18`, for a date and time field. */
  local(moment: Moment): string {
    const { day, year, hour, minute, second } = this.parts(moment);
    const month = new Intl.DateTimeFormat("en-GB", { month: "2-digit", timeZone: this.format.resolvedOptions().timeZone });
    return `${year}-${month.format(millis(moment))}-${(day ?? "").padStart(2, "0")}T${hour}:${minute}:${second}`;
  }
  /** Return the moment that a date and time field shows, or undefined when it is incomplete. */
  parse(local: string): string | undefined {
    const guess = Date.parse(`${local}Z`);
    if (!/T\d\d:\d\d/.test(local) || Number.isNaN(guess)) return undefined;
    // Twice, because the offset of the guess may be that of the other side of a clock change.
    let moment = guess;
    for (let round = 0; round < 2; round += 1) moment = guess - (Date.parse(`${this.local(moment)}Z`) - moment);
    return new Date(moment).toISOString();
  }
}

/** `UTC 08:44:18` */
export function utc(moment: Moment): string {
  return `UTC ${new Date(millis(moment)).toISOString().slice(11, 19)}`;
}

export const ZoneContext = createContext(new Zone("UTC"));

/** Return the zone of the facility. */
export function useZone(): Zone {
  return useContext(ZoneContext);
}
