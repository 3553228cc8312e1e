import { Link } from "@tanstack/react-router";
import type { Names } from "../api/types";
import { placeOf } from "../view/places";
import { CopyButton } from "./CopyButton";

interface Props {
  id: string | null | undefined;
  /** The names that came with the answer. */
  names?: Names;
  /** The name and the kind, when the answer has them itself. */
  name?: string | undefined;
  kind?: string | undefined;
  /** Leave out the copy button, for dense lists. */
  plain?: boolean;
}

/** Show an object by its name, with a link and a button that copies its id. Ids are never shown. */
export function ObjectName({ id, names = {}, name, kind, plain = false }: Props) {
  if (!id) return <span className="faint">none</span>;
  const found = names[id];
  const shownKind = kind ?? found?.kind;
  const text = name ?? found?.name;
  if (text === undefined) return <span className="faint">{(shownKind ?? "object").toLowerCase()} (no access)</span>;
  const place = shownKind ? placeOf(shownKind, id) : undefined;
  return (
    <span className="name">
      {place ? (
        <Link to={place} search={(before: Record<string, unknown>) => ({ unit: before.unit }) as never}>
          {text}
        </Link>
      ) : (
        text
      )}
      {!plain && <CopyButton text={id} label={`Copy the id of ${text}`} />}
    </span>
  );
}
