export { ClockContext, ServiceClock, useNow, useOwnNow } from "./clock";
export { useAsOf } from "./asOf";
export { counter, length } from "./duration";
export { utc, useZone, Zone, ZoneContext } from "./zone";
