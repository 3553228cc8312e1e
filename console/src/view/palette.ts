/** Opening the command palette from anywhere. */
import { createContext, useContext } from "react";

/** What the palette shows when it opens. */
export interface PaletteRequest {
  /** An operation whose form is shown at once. */
  operation?: string;
  /** Values that the form begins with. */
  values?: Record<string, unknown>;
  /** Words to search for. */
  text?: string;
}

export const PaletteContext = createContext<(request?: PaletteRequest) => void>(() => undefined);

/** Return a function that opens the palette. */
export function usePalette(): (request?: PaletteRequest) => void {
  return useContext(PaletteContext);
}
