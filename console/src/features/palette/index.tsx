/** The command palette: finds and runs any operation. */
import { useQuery } from "@tanstack/react-query";
import { Suspense, useDeferredValue, useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { OperationForm, usePick } from "../../actions";
import { routes, type CommandName, type OperationName, type QueryName } from "../../api";
import { useCatalogue } from "../../api/useCatalogue";
import { useMay } from "../../auth";
import { operationOn, operationTitle, stateText } from "../../text";
import { ActionButton, EmptyState, Icon, KIND_ICONS, Skeleton, type IconName, type Values } from "../../ui";
import { placeOf, SCREENS, useOpen, type PaletteRequest } from "../../view";
import { findOperations, fit } from "./find";
import { useObjectsInView } from "./inView";
import { QueryForm } from "./QueryForm";
import "./palette.css";

interface Entry {
  key: string;
  group: "" | "On objects in view" | "Go to";
  icon: IconName;
  title: string;
  note: string;
  hint?: string;
  isDenied?: boolean;
  operation?: OperationName;
  about?: Values;
  name?: string;
  etag?: string | undefined;
  path?: string;
}

const MOST_FOUND = 12;
const NONE: readonly Entry[] = [];

export default function Palette({ request, close }: { request: PaletteRequest; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const leave = () => dialog.current?.close();
  return (
    <dialog ref={dialog} className="palette" aria-label="Command palette" onClose={close}>
      <Suspense fallback={<Skeleton what="the operations" />}>
        <Content request={request} leave={leave} />
      </Suspense>
    </dialog>
  );
}

function Content({ request, leave }: { request: PaletteRequest; leave: () => void }) {
  const catalogue = useCatalogue();
  const [text, setText] = useState(request.text ?? (request.operation ? operationTitle(request.operation) : ""));
  const [at, setAt] = useState(0);
  const found = useEntries(text);
  // The press is answered by the field for words; what is found comes with the next frame.
  const entries = useDeferredValue(true, false) ? found : NONE;
  const open = useOpen();
  const chosen = entries[Math.min(at, entries.length - 1)];
  const list = useRef<HTMLDivElement>(null);

  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [at]);

  const go = (entry: Entry | undefined) => {
    if (entry?.path) {
      leave();
      open(entry.path);
    } else if (entry) document.querySelector<HTMLElement>(".palette .work input, .palette .work select, .palette .work textarea, .palette .work button")?.focus();
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setAt(Math.max(0, Math.min(entries.length - 1, at + (event.key === "ArrowDown" ? 1 : -1))));
    } else if (event.key === "Enter" && !event.ctrlKey) {
      event.preventDefault();
      go(chosen);
    }
  };

  return (
    <div className="pal">
      <div className="q">
        <Icon name="search" />
        <input
          aria-label="Search or run a command"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={chosen && `palette-${chosen.key}`}
          autoFocus
          autoComplete="off"
          spellCheck={false}
          placeholder="Search or run a command"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={pressed}
        />
        <span className="end row sm dim">
          {Object.keys(catalogue.operations).length} operations{" "}
          <button type="button" className="btn quiet s" onClick={leave}>
            <kbd>Esc</kbd>
            <span className="hidden">Close</span>
          </button>
        </span>
      </div>
      <div className="ops" id="palette-list" role="listbox" aria-label="Results" ref={list}>
        {entries.map((entry, index) => (
          <div key={entry.key} role="presentation">
            {entry.group && entry.group !== entries[index - 1]?.group && <h3 role="presentation">{entry.group}</h3>}
            <div
              id={`palette-${entry.key}`}
              role="option"
              aria-selected={entry === chosen}
              aria-disabled={entry.isDenied}
              className={`op ${entry === chosen ? "on" : ""} ${entry.isDenied ? "no" : ""}`}
              onClick={() => {
                setAt(index);
                if (entry.path) go(entry);
              }}
            >
              <Icon name={entry.icon} />
              <b className="b cut">{entry.title}</b>
              <span>{entry.hint ? <kbd>{entry.hint}</kbd> : entry === chosen ? <kbd>↵</kbd> : null}</span>
              <span className="d cut">{entry.note}</span>
            </div>
          </div>
        ))}
        {entries.length === 0 && (
          <p role="presentation" className="dim nothing">
            {text ? "Nothing was found." : "Type a word, such as «start»."}
          </p>
        )}
      </div>
      {chosen?.operation ? (
        <Work key={`${chosen.key} ${chosen.name ?? ""}`} entry={chosen} initial={request.operation === chosen.operation ? (request.values ?? {}) : {}} leave={leave} />
      ) : (
        <>
          <div className="work">
            <EmptyState>{chosen ? `Enter opens ${chosen.title}.` : "Every operation of the service can be run from here."}</EmptyState>
          </div>
          <footer>
            <KeyHints />
          </footer>
        </>
      )}
    </div>
  );
}

function KeyHints() {
  return (
    <>
      <kbd>↑</kbd>
      <kbd>↓</kbd> choose <kbd>Tab</kbd> to the form <kbd>Ctrl ↵</kbd> run
      <span className="end" />
    </>
  );
}

interface WorkProps {
  entry: Entry;
  initial: Values;
  leave: () => void;
}

function Work({ entry, initial, leave }: WorkProps) {
  if (!entry.operation) return null;
  if (routes[entry.operation].method === "GET")
    return (
      <>
        <div className="work">
          <Head operation={entry.operation} />
          <QueryForm operation={entry.operation as QueryName} initial={{ ...initial, ...entry.about }} />
        </div>
        <footer>
          <KeyHints />
        </footer>
      </>
    );
  return <CommandWork entry={entry} initial={initial} leave={leave} />;
}

function CommandWork({ entry, initial, leave }: WorkProps) {
  const operation = entry.operation as CommandName;
  return (
    <OperationForm operation={operation} initial={initial} {...(entry.about && { about: entry.about })} name={entry.name} etag={entry.etag} done={leave}>
      {({ body, footer, confirm, state, repeat }) => (
        <>
          <div
            className="work"
            onKeyDown={(event) => {
              if (event.key === "Enter" && event.ctrlKey) confirm();
            }}
          >
            <Head operation={operation} />
            {body}
          </div>
          <footer>
            <KeyHints />
            {(state.phase === "accepted" || state.phase === "refused") && (
              <ActionButton size="small" icon="back" press={repeat}>
                Repeat dry run
              </ActionButton>
            )}
            {footer}
          </footer>
        </>
      )}
    </OperationForm>
  );
}

function Head({ operation }: { operation: OperationName }) {
  const { operations } = useCatalogue();
  const { method, path, summary } = operations[operation];
  return (
    <div>
      <div className="row">
        <h2>{operationTitle(operation)}</h2>
        <code className="faint">{operation}</code>
        <span className="end dim sm nowrap">
          {method} {path}
        </span>
      </div>
      <p className="dim sm">{summary}</p>
    </div>
  );
}

/** Return everything that fits the text: operations, operations on objects in view, objects, screens. */
function useEntries(text: string): readonly Entry[] {
  const catalogue = useCatalogue();
  const may = useMay();
  const pick = usePick();
  const inView = useObjectsInView();
  const words = text.trim();
  const objects = useQuery({
    queryKey: ["palette", words],
    queryFn: () => pick("", words),
    enabled: words.length > 1,
    gcTime: 10_000,
  });
  return useMemo(() => {
    const found = findOperations(catalogue, words, (name) => may(name).verdict);
    const operations = found.slice(0, MOST_FOUND).map(({ name, described, title, verdict }): Entry => ({
      key: name,
      group: "",
      icon: described.isCommand ? (KIND_ICONS[described.aggregate] ?? "progress") : "search",
      title,
      note: verdict === "denied" ? "Not permitted on this surface" : verdict === "proposable" ? "Needs approval" : described.summary,
      isDenied: verdict === "denied",
      operation: name,
    }));
    const onObjects = inView.flatMap(({ kind, id, name, field, etag, states }) =>
      found
        .filter(({ described }) => described.aggregate === kind && described.isCommand && described.path.includes(`{${field}}`))
        .slice(0, 4)
        .map(({ name: operation }): Entry => {
          const offer = may(operation, states);
          return {
            key: `${operation} ${id}`,
            group: "On objects in view",
            icon: KIND_ICONS[kind] ?? "document",
            title: operationOn(operation, name),
            note: offer.reason ?? (states.status ? `${name} is ${stateText(states.status)}` : ""),
            isDenied: !offer.isEnabled,
            operation,
            about: { [field]: id },
            name,
            etag,
          };
        }),
    );
    const places = (objects.data ?? []).flatMap(({ id, kind, name, status }): Entry[] => {
      const path = placeOf(kind, id);
      const note = status ? `${kind.toLowerCase()}, ${stateText(status).toLowerCase()}` : kind.toLowerCase();
      return path ? [{ key: id, group: "Go to", icon: KIND_ICONS[kind] ?? "document", title: name, note, path }] : [];
    });
    const screens = SCREENS.filter(({ name }) => !words || fit([words.toLowerCase()], name, name, "") > 0).map(({ name, path, key, icon }): Entry => ({
      key: path,
      group: "Go to",
      icon,
      title: name,
      note: "",
      hint: `G ${key}`,
      path,
    }));
    return [...operations, ...onObjects, ...places, ...screens];
  }, [catalogue, inView, may, objects.data, words]);
}
