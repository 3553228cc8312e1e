// @vitest-environment node
/** Times in the zone of the facility, by the clock of the service. */
import { expect, test } from "vitest";
import { ServiceClock } from "../src/time/clock";
import { counter, length } from "../src/time/duration";
import { utc, Zone } from "../src/time/zone";

const zone = new Zone("Europe/Berlin");
const NOW = Date.parse("2026-11-18T08:44:18Z");

test("a time of the same day has seconds and a time of another day has its day", () => {
  expect(zone.stamp(NOW - 20_000, NOW)).toBe("09:43:58");
  expect(zone.stamp("2026-11-17T15:20:00Z", NOW)).toBe("Tue 17 Nov, 16:20");
  expect(utc(NOW)).toBe("UTC 08:44:18");
});

test("a local time is parsed in the zone of the facility, on both sides of a clock change", () => {
  for (const moment of ["2026-11-18T08:44:18.000Z", "2026-07-01T08:00:00.000Z", "2026-10-25T02:30:00.000Z", "2026-03-29T01:30:00.000Z"])
    expect(zone.parse(zone.local(moment))).toBe(moment);
  expect(zone.parse("2026-11")).toBeUndefined();
});

test("durations are counters or lengths", () => {
  expect(counter(166_000)).toBe("2:46");
  expect(length(36_900_000)).toBe("10 h 15 min");
  expect(length(336_000)).toBe("5 min 36 s");
});

test("the clock follows the beat, whatever this computer thinks", () => {
  const clock = new ServiceClock();
  clock.beat(new Date(Date.now() + 7_200_000).toISOString());
  expect(Math.abs(clock.now() - Date.now() - 7_200_000)).toBeLessThan(1000);
  clock.heard(new Date(Date.now()).toUTCString());
  expect(clock.now() - Date.now()).toBeGreaterThan(7_000_000);
});
