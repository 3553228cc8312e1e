/** Addresses of the parts of the Data screen. */
import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";

export const TABS = ["custody", "lineage", "calibrations", "editions"] as const;
export type Tab = (typeof TABS)[number];

/** Return the part that shows a kind of object when the address names none. */
export function tabOf(kind: string | undefined, named: string | undefined): Tab {
  const found = TABS.find((tab) => tab === named);
  if (found) return found;
  if (kind === "Calibration" || kind === "CalibrationRevision") return "calibrations";
  if (kind === "Edition") return "editions";
  return kind === undefined || kind === "Dataset" || kind === "Distribution" ? "custody" : "lineage";
}

/** Return what stays in the address from one part to another, with the part. */
export const searchFor = (tab?: Tab) => (before: Record<string, unknown>) => ({ unit: before.unit, as_of: before.as_of, ...(tab && { tab }) }) as never;

/** Return a function that opens an object of the Data screen and keeps the viewed time. */
export function useGo(): (kind: string, id: string, tab?: Tab) => void {
  const navigate = useNavigate();
  return useCallback((kind, id, tab) => void navigate({ to: `/data/${kind}/${id}`, search: searchFor(tab) } as never), [navigate]);
}
