/** The three things that a browser keeps for good: theme, density and single-letter keys. */
import { useSyncExternalStore } from "react";

export interface Preferences {
  theme: "auto" | "dark" | "light";
  density: "normal" | "compact";
  keys: boolean;
}

const STORED = "beamkeep-console";
const DEFAULTS: Preferences = { theme: "auto", density: "normal", keys: true };
const listeners = new Set<() => void>();
let current: Preferences | undefined;

function read(): Preferences {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(STORED) ?? "{}") as Partial<Preferences>) };
  } catch {
    return DEFAULTS;
  }
}

export function preferences(): Preferences {
  return (current ??= read());
}

export function setPreferences(changed: Partial<Preferences>): void {
  current = { ...preferences(), ...changed };
  try {
    localStorage.setItem(STORED, JSON.stringify(current));
  } catch {
    // A browser that keeps nothing still shows the choice until it is closed.
  }
  for (const listener of listeners) listener();
}

export function usePreferences(): Preferences {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, preferences);
}
