/** Units and numbers as people write them. */

/** The symbol of a unit whose name the service uses. */
export const UNITS: Record<string, string> = {
  one: "",
  "1": "",
  dimensionless: "",
  count: "",
  degree: "°",
  degC: "°C",
  celsius: "°C",
  percent: "%",
  um: "µm",
  micrometer: "µm",
  microampere: "µA",
  milliampere: "mA",
  second: "s",
  millisecond: "ms",
  kiloelectronvolt: "keV",
  pixel: "px",
};

/** Return the symbol of a unit. */
export function unitSymbol(unit: string | null | undefined): string {
  return unit ? (UNITS[unit] ?? unit) : "";
}

const NUMBER = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
const WHOLE = new Intl.NumberFormat("en");

/** `1,501`, `200.1`, `1.30e-7`. */
export function number(value: number): string {
  if (Number.isInteger(value)) return WHOLE.format(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e9) ? value.toExponential(3) : NUMBER.format(value);
}

/** `25 keV`; a number without a unit stands alone. */
export function quantity(value: number, unit: string | null | undefined): string {
  const symbol = unitSymbol(unit);
  return symbol ? `${number(value)} ${symbol}` : number(value);
}

const SIZES = ["B", "kB", "MB", "GB", "TB", "PB"];

/** `11.8 GB` */
export function bytes(size: number): string {
  const power = Math.min(Math.floor(Math.log10(Math.max(size, 1)) / 3), SIZES.length - 1);
  const scaled = size / 1000 ** power;
  return `${scaled >= 100 || power === 0 ? Math.round(scaled) : scaled.toFixed(1)} ${SIZES[power]}`;
}

/** «1 run», «2 runs». */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${WHOLE.format(count)} ${count === 1 ? one : many}`;
}

/** Return a value as text, a number as people write it. */
export function plainText(value: unknown): string {
  return typeof value === "number" ? number(value) : typeof value === "string" ? value : JSON.stringify(value);
}
