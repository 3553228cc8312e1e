/** Durations in words. */

/** `0:20`, `2:46`, `1:02:46`: a counter. */
export function counter(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const tail = String(s).padStart(2, "0");
  return h ? `${h}:${String(m).padStart(2, "0")}:${tail}` : `${m}:${tail}`;
}

/** `10 h 15 min`, `5 min 36 s`, `38 s`, `3 days`: a length. */
export function length(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [d, h, m, s] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  if (d >= 2) return `${d} days`;
  if (h) return m ? `${h} h ${m} min` : `${h} h`;
  if (m) return s && m < 10 ? `${m} min ${s} s` : `${m} min`;
  return `${s} s`;
}
