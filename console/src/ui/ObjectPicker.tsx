import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { stateText } from "../text/states";

/** An object that a search has found. */
export interface Found {
  id: string;
  kind: string;
  name: string;
  status: string | null;
}

/** Finds objects of a kind ("" for any) by a text; an id finds the object that has it. */
export type Pick = (kind: string, text: string) => Promise<readonly Found[]>;

interface Props {
  id: string;
  label: string;
  kind: string;
  pick: Pick;
  value: string;
  change: (id: string | undefined) => void;
  "aria-describedby"?: string | undefined;
  "aria-invalid"?: boolean | undefined;
  "aria-required"?: boolean;
}

const WAIT_MS = 200;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Return an object whose id was pasted and whose name cannot be read. */
function unnamed(id: string, kind: string): Found {
  return { id, kind, name: `${kind ? spaced(kind) : "object"} with this id`, status: null };
}

const spaced = (kind: string): string => kind.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();

/** Choose an object by its name; the id is sent and not shown. */
export function ObjectPicker({ id, label, kind, pick, value, change, ...aria }: Props) {
  const list = useId();
  const [typed, setTyped] = useState<string>();
  const [found, setFound] = useState<readonly Found[]>([]);
  const [at, setAt] = useState(0);
  const [name, setName] = useState("");
  const asked = useRef(0);

  // The name of an object whose id was given from outside.
  useEffect(() => {
    if (!value) return;
    let isCurrent = true;
    pick(kind, value).then(
      (objects) => {
        const own = objects.find((object) => object.id === value);
        if (isCurrent) setName((own ?? unnamed(value, kind)).name);
      },
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [kind, pick, value]);

  useEffect(() => {
    if (typed === undefined) return;
    const number = (asked.current += 1);
    const timer = setTimeout(
      () => {
        const show = (objects: readonly Found[]) => {
          if (number !== asked.current) return;
          setFound(objects.length > 0 || !UUID.test(typed.trim()) ? objects : [unnamed(typed.trim(), kind)]);
          setAt(0);
        };
        pick(kind, typed).then(show, () => show([]));
      },
      UUID.test(typed.trim()) ? 0 : WAIT_MS,
    );
    return () => clearTimeout(timer);
  }, [kind, pick, typed]);

  const isOpen = typed !== undefined;
  const choose = (object: Found | undefined) => {
    if (object) {
      setName(object.name);
      change(object.id);
    }
    setTyped(undefined);
    setFound([]);
  };
  const pressed = (event: KeyboardEvent) => {
    if (!isOpen) {
      if (event.key === "ArrowDown") setTyped("");
      return;
    }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setAt(Math.max(0, Math.min(found.length - 1, at + (event.key === "ArrowDown" ? 1 : -1))));
    } else if (event.key === "Enter" && found[at]) {
      event.preventDefault();
      choose(found[at]);
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      choose(undefined);
    }
  };

  return (
    <span className="pop-anchor picker" onKeyDown={pressed}>
      <input
        id={id}
        className="in"
        role="combobox"
        autoComplete="off"
        aria-expanded={isOpen && found.length > 0}
        aria-controls={list}
        aria-activedescendant={found[at] ? `${list}-${at}` : undefined}
        {...aria}
        placeholder={kind ? `${kind} by name` : "object by name"}
        value={typed ?? (value ? name : "")}
        onFocus={(event) => event.target.select()}
        onChange={(event) => {
          setTyped(event.target.value);
          if (event.target.value === "") change(undefined);
        }}
        onBlur={() => choose(undefined)}
      />
      {isOpen && found.length > 0 && (
        <ul className="pop below" role="listbox" id={list} aria-label={label}>
          {found.map((object, index) => (
            <li
              key={object.id}
              id={`${list}-${index}`}
              role="option"
              aria-selected={index === at}
              className={index === at ? "option on" : "option"}
              // The field would lose its focus, and the list with it, before a click.
              onPointerDown={(event) => {
                event.preventDefault();
                choose(object);
              }}
            >
              <b className="b">{object.name}</b>{" "}
              <span className="dim sm">
                {object.kind.toLowerCase()}
                {object.status && `, ${stateText(object.status).toLowerCase()}`}
              </span>
            </li>
          ))}
        </ul>
      )}
    </span>
  );
}
