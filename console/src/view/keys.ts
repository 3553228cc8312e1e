/** Keys of the console. No single key writes. */
import { useEffect, useRef } from "react";
import { preferences } from "./preferences";

/** What a key does; `Ctrl K`, `Shift W`, `G B`, `j`, `Escape`, `?`. */
export type Keys = Record<string, (event: KeyboardEvent) => void>;

const SEQUENCE_MS = 1500;
let prefix: { key: string; at: number } | undefined;

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

/** Return the names under which a pressed key may be bound. */
function namesOf(event: KeyboardEvent): string[] {
  const key = event.key.length === 1 ? event.key.toUpperCase() : event.key;
  if (event.ctrlKey || event.metaKey) return [`Ctrl ${key}`];
  if (event.altKey) return [];
  const began = prefix && Date.now() - prefix.at < SEQUENCE_MS ? [`${prefix.key} ${key}`] : [];
  return [...began, ...(event.shiftKey && event.key.length === 1 && /[A-Z]/.test(key) ? [`Shift ${key}`] : [key])];
}

/** Bind keys while the component is shown; the component that was shown last comes first. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const binding = () => latest.current;
    bindings.unshift(binding);
    return () => void bindings.splice(bindings.indexOf(binding), 1);
  }, []);
}

const bindings: (() => Keys)[] = [];

function pressed(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  // Keys of the screen behind do nothing while a dialog is open. A dialog that was closed keeps the focus for a moment.
  if (document.querySelector("dialog[open]")) return;
  const names = namesOf(event);
  const isSingle = names.every((name) => !name.startsWith("Ctrl ") && name !== "Escape");
  if (isSingle && (isTyping(event.target) || !preferences().keys)) return;
  for (const name of names)
    for (const binding of bindings) {
      const bound = binding()[name];
      if (bound) {
        prefix = undefined;
        event.preventDefault();
        bound(event);
        return;
      }
    }
  prefix = event.key === "g" ? { key: "G", at: Date.now() } : undefined;
}

/** Listen to keys; called once, when the console starts. */
export function listenToKeys(): void {
  addEventListener("keydown", pressed);
}
