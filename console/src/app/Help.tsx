import { useEffect, useRef } from "react";
import { Pair } from "../ui";
import { SCREENS } from "../view";

const KEYS: readonly (readonly [string, string])[] = [
  ["Ctrl K", "search, or run any operation"],
  ...SCREENS.map(({ key, name }) => [`G ${key}`, name] as const),
  ["J K or ↑ ↓", "move in a list"],
  ["Enter", "open"],
  ["/", "filter"],
  [".", "actions of the object shown"],
  ["T", "view the past, or return to now"],
  ["[ ]", "previous and next event, while the past is viewed"],
  ["Shift W", "wall mode"],
  ["Esc", "close, or return to now"],
];

/** List the keys. */
export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="help" aria-labelledby="help-title" onClose={close}>
      <div className="row between">
        <h2 id="help-title">Keys</h2>
        <button type="button" className="btn s" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      <dl className="kv">
        {KEYS.map(([keys, what]) => (
          <Pair key={keys} label={<kbd>{keys}</kbd>}>
            {what}
          </Pair>
        ))}
      </dl>
      <p className="dim sm">No single key writes. Single-letter keys can be turned off in the menu under your name.</p>
    </dialog>
  );
}
