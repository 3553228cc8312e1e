import { useId, useState, type ReactNode } from "react";

export interface Tab {
  title: string;
  count: number;
  /** Leave out the padding, for tables. */
  flush?: boolean;
  show: () => ReactNode;
}

/** A panel with several lists, of which one is shown. */
export function Tabs({ label, tabs, note, end }: { label: string; tabs: readonly Tab[]; note?: ReactNode; end?: ReactNode }) {
  const [at, setAt] = useState(0);
  const id = useId();
  const shown = tabs[at];
  const step = (key: string) => {
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[key];
    if (next === undefined) return;
    const chosen = (next + tabs.length) % tabs.length;
    setAt(chosen);
    document.getElementById(`${id}-${chosen}`)?.focus();
  };
  return (
    <section className="panel" aria-label={label}>
      <header>
        <div className="tabs" role="tablist" aria-label={label} onKeyDown={({ key }) => step(key)}>
          {tabs.map(({ title, count }, index) => (
            <button
              key={title}
              type="button"
              role="tab"
              id={`${id}-${index}`}
              tabIndex={index === at ? 0 : -1}
              aria-controls={id}
              aria-selected={index === at}
              onClick={() => setAt(index)}
            >
              {title} {count}
            </button>
          ))}
        </div>
        {note !== undefined && <span className="dim sm cut">{note}</span>}
        {end !== undefined && <span className="end row">{end}</span>}
      </header>
      <div className={shown?.flush ? "body flush" : "body"} role="tabpanel" id={id} aria-labelledby={`${id}-${at}`} tabIndex={0}>
        {shown?.show()}
      </div>
    </section>
  );
}
