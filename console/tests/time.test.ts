// @vitest-environment node
/** Times in the zone of the facility, by the clock of the service. */
import { describe, expect, test } from "vitest";
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

test("a time of another year has its year", () => {
  expect(zone.stamp("2025-11-18T08:44:18Z", NOW)).toBe("Tue 18 Nov 2025, 09:44");
});

test("a day begins at midnight of the facility", () => {
  expect(zone.isSameDay("2026-11-17T23:30:00Z", NOW)).toBe(true);
  expect(zone.isSameDay("2026-11-18T23:30:00Z", NOW)).toBe(false);
});

test("a zone that this browser does not know hides no time", () => {
  expect(new Zone("Mars/Olympus").time(NOW)).toBe("08:44:18");
});

test.each([
  [0, "0 s", "0:00"],
  [-5000, "0 s", "0:00"],
  [59_999, "59 s", "0:59"],
  [600_000, "10 min", "10:00"],
  [3_599_000, "59 min", "59:59"],
  [7_200_000, "2 h", "2:00:00"],
  [172_800_000, "2 days", "48:00:00"],
])("%i ms are a length and a counter", (milliseconds, long, short) => {
  expect([length(milliseconds), counter(milliseconds)]).toEqual([long, short]);
});

describe("the clock of the service", () => {
  const hours = (count: number) => new Date(Date.now() + count * 3_600_000);
  const offset = (clock: ServiceClock) => Math.round((clock.now() - Date.now()) / 3_600_000);

  test("follows a response until a beat has come, and passes over what is no time", () => {
    const clock = new ServiceClock();
    clock.heard(hours(2).toUTCString());
    expect(offset(clock)).toBe(2);
    clock.heard(null);
    clock.beat("soon");
    expect(offset(clock)).toBe(2);
    clock.heard(hours(3).toUTCString());
    expect(offset(clock)).toBe(3);
    clock.beat(hours(1).toISOString());
    clock.heard(hours(3).toUTCString());
    expect(offset(clock)).toBe(1);
  });

  test("is not moved by a response that has only whole seconds", () => {
    const clock = new ServiceClock();
    clock.heard(new Date(Math.floor(Date.now() / 1000) * 1000 - 1000).toUTCString());
    expect(clock.now() - Date.now()).toBeLessThan(1);
    expect(clock.now() - Date.now()).toBeGreaterThan(-1);
  });
});
