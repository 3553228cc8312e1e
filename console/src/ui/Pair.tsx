import type { ReactNode } from "react";

/** One row of a `dl`: a label and its value. */
export function Pair({ label, children }: { label: ReactNode; children: ReactNode }) {
  return (
    <div className="pair">
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
