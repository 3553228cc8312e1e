import { useDeferredValue, useEffect, useId, useRef, type ReactNode } from "react";
import { Icon } from "./Icon";

interface Props {
  title: ReactNode;
  note?: ReactNode;
  close: () => void;
  /** The form, the dry run, the refusal. */
  children: ReactNode;
  /** The button that sends, and others. */
  footer: ReactNode;
  /** Called with `Ctrl Enter`. */
  confirm?: (() => void) | undefined;
}

/** A sheet at the right side: form, dry run, one button. Focus returns when it closes. */
export function ActionSheet({ title, note, close, children, footer, confirm }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const before = useRef<Element>(undefined);
  // The press is answered by the empty sheet; its form, which takes longer, comes with the next frame.
  const isFilled = useDeferredValue(true, false);
  useEffect(() => {
    before.current ??= document.activeElement ?? undefined;
    dialog.current?.showModal();
    return () => {
      if (before.current instanceof HTMLElement) before.current.focus();
    };
  }, []);
  useEffect(() => {
    if (isFilled) dialog.current?.querySelector<HTMLElement>(".body input, .body select, .body textarea, footer button")?.focus();
  }, [isFilled]);
  return (
    <dialog
      ref={dialog}
      className="sheet"
      aria-labelledby={id}
      onClose={close}
      onKeyDown={(event) => {
        if (event.key === "Enter" && event.ctrlKey) {
          event.preventDefault();
          confirm?.();
        }
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        {note !== undefined && <span className="dim sm">{note}</span>}
        <span className="end">
          <button type="button" className="btn quiet s" aria-label="Close" onClick={() => dialog.current?.close()}>
            <Icon name="close" />
          </button>
        </span>
      </header>
      <div className="body">{isFilled && children}</div>
      <footer>{footer}</footer>
    </dialog>
  );
}
