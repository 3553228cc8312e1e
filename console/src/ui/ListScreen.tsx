import { useRef, type ReactNode } from "react";
import { stateText } from "../text/states";
import type { Problem } from "../api/problems";
import { useKeys } from "../view/keys";
import { DataTable, type Column } from "./DataTable";
import { EmptyState } from "./EmptyState";
import { Loaded, Panel } from "./Panel";

interface Props<T> {
  /** «Runs». */
  title: string;
  /** Whether another time is viewed; a list is always that of now. */
  isPast: boolean;
  statuses: readonly string[];
  status: string | undefined;
  choose: (status: string | undefined) => void;
  action: ReactNode;
  /** Shown between the heading and the list. */
  lead?: ReactNode;
  read: { data: { items: T[]; next_cursor: string | null } | undefined; problem: Problem | undefined; again: () => void };
  operation: string;
  columns: readonly Column<T>[];
  rowKey: (row: T) => string;
  open: (row: T) => void;
  /** What is said when there is nothing in any state. */
  none: string;
}

/** A screen with the objects of one kind, newest first; the key `/` leads to the filter. */
export function ListScreen<T>({ title, isPast, statuses, status, choose, action, lead, read, operation, columns, rowKey, open, none }: Props<T>) {
  const filter = useRef<HTMLSelectElement>(null);
  useKeys({ "/": () => filter.current?.focus() });
  const what = title.toLowerCase();
  const count = read.data?.items.length ?? 0;
  return (
    <div className="main list-screen">
      <div className="object-head">
        <h1 className="screen-title">{title}</h1>
        {isPast && <span className="chip">Current list</span>}
        <span className="end row">
          <label className="row sm">
            Status <kbd>/</kbd>
            <select ref={filter} className="in" value={status ?? ""} onChange={(event) => choose(event.target.value || undefined)}>
              <option value="">All</option>
              {statuses.map((each) => (
                <option key={each} value={each}>
                  {stateText(each)}
                </option>
              ))}
            </select>
          </label>
          {action}
        </span>
      </div>
      {lead}
      <Panel title={status ? `${stateText(status)} ${what}` : `All ${what}`} note={read.data?.next_cursor ? `the newest ${count}` : "newest first"} flush>
        <Loaded read={read} what={what} operation={operation}>
          {({ items }) => (
            <DataTable<T>
              label={title}
              rows={items}
              rowKey={rowKey}
              open={open}
              columns={columns}
              empty={<EmptyState>{status ? `No ${what} are ${stateText(status)}.` : none}</EmptyState>}
            />
          )}
        </Loaded>
      </Panel>
    </div>
  );
}
