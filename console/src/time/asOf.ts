/** The time that is viewed: now, or the time in the address. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

/** Return the viewed time, or undefined for now, and a way to change it. */
export function useAsOf(): { asOf: string | undefined; view: (moment: string | undefined) => void } {
  const search: Record<string, unknown> = useSearch({ strict: false });
  const navigate = useNavigate();
  const asOf = typeof search.as_of === "string" && search.as_of ? search.as_of : undefined;
  const view = useCallback(
    (moment: string | undefined) => {
      void navigate({
        to: ".",
        search: (before: Record<string, unknown>) => ({ ...before, as_of: moment }),
      } as never);
    },
    [navigate],
  );
  return { asOf, view };
}
