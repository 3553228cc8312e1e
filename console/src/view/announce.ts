/** What is announced to screen readers. */
import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let polite = "";
let assertive = "";

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** Say something after what is being read. */
export function announce(text: string): void {
  polite = text;
  for (const listener of listeners) listener();
}

/** Say something at once; only the loss of the feed does this. */
export function alert(text: string): void {
  assertive = text;
  for (const listener of listeners) listener();
}

export const usePolite = (): string => useSyncExternalStore(subscribe, () => polite);
export const useAssertive = (): string => useSyncExternalStore(subscribe, () => assertive);
