/** Line icons on a grid of 16. An icon never stands alone: a word is next to it. */
import type { ReactElement } from "react";
import type { Mark } from "../text/states";

const line = (d: string, width = 1.6) => <path fill="none" stroke="currentColor" strokeWidth={width} strokeLinecap="round" strokeLinejoin="round" d={d} />;
const ring = (radius = 6.3, dashes?: string, x = 8, y = 8) => <circle fill="none" stroke="currentColor" strokeWidth={1.6} strokeDasharray={dashes} cx={x} cy={y} r={radius} />;
const cut = (d: string) => <path stroke="var(--cut)" strokeWidth={1.8} strokeLinecap="round" d={d} />;

const MARKS: Record<Mark, ReactElement> = {
  normal: line("M3.2 8.6 6.4 11.8 12.8 4.6"),
  blocks: (
    <>
      <path fill="currentColor" d="M5.2 1.2h5.6l4 4v5.6l-4 4H5.2l-4-4V5.2z" />
      {cut("m5.6 5.6 4.8 4.8m0-4.8-4.8 4.8")}
    </>
  ),
  caution: (
    <>
      <path fill="currentColor" d="M8 1.3 15.4 14.2H.6z" />
      {cut("M8 6v3.6M8 11.9v.01")}
    </>
  ),
  unknown: (
    <>
      <path fill="none" stroke="currentColor" strokeWidth={1.5} strokeDasharray="2.4 1.5" d="M8 .9 15.1 8 8 15.1.9 8z" />
      <path fill="none" stroke="currentColor" strokeWidth={1.5} strokeLinecap="round" d="M6.5 6.6c0-2 3-2 3-.1 0 1.2-1.5 1.2-1.5 2.5M8 10.9v.01" />
    </>
  ),
  progress: (
    <>
      {ring()}
      <path fill="currentColor" d="M6.6 5.2v5.6L11 8z" />
    </>
  ),
  held: (
    <>
      {ring()}
      {line("M6.3 5.8v4.4M9.7 5.8v4.4", 2)}
    </>
  ),
  pending: ring(6.3, "2 2.4"),
  done: (
    <>
      {ring()}
      {line("m5.2 8.2 2 2 3.6-4")}
    </>
  ),
  denied: (
    <>
      {ring()}
      {line("m3.7 12.3 8.6-8.6")}
    </>
  ),
  info: (
    <>
      {ring()}
      {line("M8 7.4v3.4M8 5v.01", 1.8)}
    </>
  ),
};

const ICONS = {
  agent: (
    <>
      {line("M3 6h10v7H3zM8 6V3M6 9.4v.01M10 9.4v.01")}
      {ring(0.8, undefined, 8, 2.2)}
    </>
  ),
  asset: line("M8 1.6 13.8 4.8v6.4L8 14.4 2.2 11.2V4.8zM2.2 4.8 8 8l5.8-3.2M8 8v6.4"),
  back: line("M6.4 3.2 2.2 7.4l4.2 4.2M2.4 7.4h7.4a4 4 0 0 1 0 8"),
  beam: (
    <>
      {line("M1.6 8h5M9.4 8h1M12.4 8h2M8 1.8v2.6M8 11.6v2.6")}
      {ring(1.6)}
    </>
  ),
  board: line("M2 3h12v10H2zM2 7h12M7 7v6"),
  clock: (
    <>
      {ring()}
      {line("M8 4.4V8l2.4 1.6")}
    </>
  ),
  close: line("m4 4 8 8M12 4l-8 8"),
  copy: line("M5.6 5.6h7.8v8H5.6zM10.4 5.6V2.4H2.6v8h3"),
  data: (
    <>
      <ellipse fill="none" stroke="currentColor" strokeWidth={1.6} cx="8" cy="3.8" rx="5.4" ry="2.1" />
      {line("M2.6 3.8v8.2c0 1.2 2.4 2.2 5.4 2.2s5.4-1 5.4-2.2V3.8M2.6 8c0 1.2 2.4 2.1 5.4 2.1S13.4 9.2 13.4 8")}
    </>
  ),
  decision: (
    <>
      {line("M8 1.8v2M8 12.2v2M2.6 8h-.8M14.2 8h-.8M4 4 3.3 3.3M12.7 12.7 12 12M4 12l-.7.7M12.7 3.3 12 4")}
      {ring(3.4)}
    </>
  ),
  document: line("M3.6 1.8h6l3 3v9.4h-9zM9.4 1.8v3.2h3.2M5.8 8h4.4M5.8 10.8h4.4"),
  down: line("m3.6 6 4.4 4.4L12.4 6"),
  equipment: line("M2.2 2.2h4v3.2h-4zM9.8 6.4h4v3.2h-4zM9.8 11.2h4v3.2h-4zM4.2 5.4V13h5.6M4.2 8h5.6"),
  gauge: line("M2.2 11.4a6.3 6.3 0 1 1 11.6 0M8 8.8l2.8-3"),
  handover: line("M2 5.4h10.2M9.6 2.6l2.8 2.8-2.8 2.8M14 10.6H3.8M6.4 7.8l-2.8 2.8 2.8 2.8"),
  hutch: line("M2.4 14V4.4L8 1.8l5.6 2.6V14zM6 14V8.4h4V14"),
  key: (
    <>
      {ring(3.2, undefined, 5.4, 10.6)}
      {line("m7.8 8.2 5.6-5.6M11 5l2 2")}
    </>
  ),
  link: line("M6.6 9.4a2.8 2.8 0 0 0 4 0l2.2-2.2a2.8 2.8 0 0 0-4-4l-1 1M9.4 6.6a2.8 2.8 0 0 0-4 0L3.2 8.8a2.8 2.8 0 0 0 4 4l1-1"),
  list: line("M2.5 3.6h1.6M2.5 8h1.6M2.5 12.4h1.6M6.6 3.6h7M6.6 8h7M6.6 12.4h7"),
  more: line("M3.6 8v.01M8 8v.01M12.4 8v.01", 2.2),
  none: line("M4.5 8h7"),
  note: line("M2.6 2.6h10.8v7.6l-3.2 3.2H2.6zM13.4 10.2h-3.2v3.2M5.4 5.8h5.2M5.4 8.4h3"),
  person: (
    <>
      {ring(2.8, undefined, 8, 5)}
      {line("M2.6 14c.4-3 2.6-4.4 5.4-4.4s5 1.4 5.4 4.4")}
    </>
  ),
  right: line("m6 3.6 4.4 4.4L6 12.4"),
  run: line("M1.5 8h2.6l2-5 3.4 10 2.2-5h2.8"),
  search: (
    <>
      {ring(4.6, undefined, 7, 7)}
      {line("m10.6 10.6 3.4 3.4")}
    </>
  ),
} satisfies Record<string, ReactElement>;

export type IconName = keyof typeof ICONS | Mark;

/** The icon of each kind of object. */
export const KIND_ICONS: Record<string, IconName> = {
  Actor: "person",
  Agent: "agent",
  Asset: "asset",
  Calibration: "gauge",
  CalibrationRevision: "gauge",
  Campaign: "decision",
  Caution: "caution",
  Clearance: "document",
  Dataset: "data",
  Decision: "decision",
  Distribution: "data",
  Edition: "document",
  Enclosure: "hutch",
  Method: "document",
  Plan: "document",
  Policy: "key",
  Practice: "document",
  Procedure: "list",
  Proposal: "decision",
  Recipe: "list",
  Run: "run",
  Subject: "asset",
  Supply: "beam",
  Surface: "key",
  Visit: "person",
};

/** Show an icon in the size and the colour of the text around it. */
export function Icon({ name, className = "" }: { name: IconName; className?: string }) {
  const drawn = name in MARKS ? MARKS[name as Mark] : ICONS[name as keyof typeof ICONS];
  return (
    <svg className={`i ${className}`} viewBox="0 0 16 16" aria-hidden="true">
      {drawn}
    </svg>
  );
}

/** The sign of Beamkeep. */
export function Logo() {
  return (
    <svg viewBox="0 0 26 26" aria-hidden="true">
      <path fill="none" stroke="currentColor" strokeWidth="2" d="M13 2.5 22.5 7v7.5c0 4.6-4 7.6-9.5 9.5-5.5-1.9-9.5-4.9-9.5-9.5V7z" />
      <path stroke="currentColor" strokeWidth="2" strokeLinecap="round" d="M1 13h7.5M17.5 13H25" />
      <circle cx="13" cy="13" r="3" fill="currentColor" />
    </svg>
  );
}
