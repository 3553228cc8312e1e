/** Texts that somebody has begun to write: they survive another screen and a reload, and end with the tab or the sign-out. */
import { useSyncExternalStore } from "react";

const STORED = "beamkeep-draft:";
const listeners = new Set<() => void>();
/** What a browser that stores nothing still remembers until the page is left. */
const remembered = new Map<string, string>();

export function draft(name: string): string {
  const known = remembered.get(name);
  if (known !== undefined) return known;
  try {
    return sessionStorage.getItem(STORED + name) ?? "";
  } catch {
    return "";
  }
}

export function setDraft(name: string, text: string): void {
  remembered.set(name, text);
  try {
    if (text) sessionStorage.setItem(STORED + name, text);
    else sessionStorage.removeItem(STORED + name);
  } catch {
    // The draft is remembered until the page is left.
  }
  for (const listener of listeners) listener();
}

/** Forget every draft: nothing that one person has written is shown to the next. */
export function forgetDrafts(): void {
  remembered.clear();
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(STORED)) sessionStorage.removeItem(key);
  } catch {
    // Nothing was stored.
  }
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** Return a draft by its name, and a way to change it. */
export function useDraft(name: string): [string, (text: string) => void] {
  const text = useSyncExternalStore(subscribe, () => draft(name));
  return [text, (changed) => setDraft(name, changed)];
}
