import { useState, type ReactNode } from "react";
import { announce } from "../view/announce";
import { Icon } from "./Icon";

/** Copy a text; says so to screen readers and in its own label. */
export function CopyButton({ text, label = "Copy", children }: { text: string; label?: string; children?: ReactNode }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () => {
    void write(text).then((done) => {
      setCopied(done);
      announce(done ? "Copied." : "The browser did not allow copying.");
      setTimeout(() => setCopied(false), 2000);
    });
  };
  return (
    <button type="button" className={children ? "copy link" : "copy"} onClick={copy} aria-label={children ? undefined : label} title={children ? undefined : label}>
      {children ?? <Icon name={isCopied ? "normal" : "copy"} />}
      {children && isCopied ? " (copied)" : null}
    </button>
  );
}

async function write(text: string): Promise<boolean> {
  // The clipboard exists only over HTTPS.
  const clipboard = (navigator as { clipboard?: Clipboard }).clipboard;
  try {
    if (clipboard) await clipboard.writeText(text);
    else return legacyCopy(text);
    return true;
  } catch {
    return legacyCopy(text);
  }
}

function legacyCopy(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden";
  document.body.append(area);
  area.select();
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- the only way without HTTPS
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
