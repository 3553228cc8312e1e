import { number } from "../text/units";
import type { Tone } from "../text/states";

/** Show a part of a whole as a bar; the words next to it say the same. */
export function Meter({ value, of, label, tone = "" }: { value: number; of: number; label: string; tone?: Tone }) {
  const share = of > 0 ? Math.min(1, Math.max(0, value / of)) : 0;
  return (
    <div className="meter" role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={of} aria-valuenow={value} aria-valuetext={`${number(value)} of ${number(of)}`}>
      <i className={tone} style={{ width: `${(share * 100).toFixed(1)}%` }} />
    </div>
  );
}
