/** Where the console shows an object. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

const PLACES: Record<string, (id: string) => string> = {
  Run: (id) => `/runs/${id}`,
  Campaign: () => "/runs",
  Procedure: (id) => `/procedures/${id}`,
  Asset: (id) => `/equipment/${id}`,
  Dataset: (id) => `/data/Dataset/${id}`,
  Distribution: (id) => `/data/Distribution/${id}`,
  Calibration: (id) => `/data/Calibration/${id}`,
  CalibrationRevision: (id) => `/data/CalibrationRevision/${id}`,
  Edition: (id) => `/data/Edition/${id}`,
  Decision: (id) => `/decisions/${id}`,
  Agent: () => "/decisions",
  Proposal: (id) => `/proposals/${id}`,
  Visit: () => "/access",
  Clearance: () => "/access",
  Actor: () => "/access",
  Policy: () => "/access",
};

/** Return the path of the screen that shows an object, or undefined when none does. */
export function placeOf(kind: string, id: string): string | undefined {
  return PLACES[kind]?.(id);
}

/** Return a parameter of the address and a way to change it; view state is stored there. */
export function useSearchParam(name: string): [string | undefined, (value: string | undefined) => void] {
  const search: Record<string, unknown> = useSearch({ strict: false });
  const navigate = useNavigate();
  const found = search[name];
  const value = typeof found === "string" || typeof found === "number" ? String(found) : undefined;
  const set = useCallback(
    (changed: string | undefined) => {
      void navigate({
        to: ".",
        replace: true,
        search: (before: Record<string, unknown>) => ({ ...before, [name]: changed }),
      } as never);
    },
    [name, navigate],
  );
  return [value, set];
}

/** Return a function that opens a path of the console and keeps the beamline. */
export function useOpen(): (path: string) => void {
  const navigate = useNavigate();
  return useCallback(
    (path: string) => {
      void navigate({ to: path, search: (before: Record<string, unknown>) => ({ unit: before.unit }) } as never);
    },
    [navigate],
  );
}
