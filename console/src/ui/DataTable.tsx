import { useRef, useState, type KeyboardEvent, type ReactNode } from "react";

export interface Column<T> {
  key: string;
  title: ReactNode;
  cell: (row: T) => ReactNode;
  align?: "left" | "right";
  /** Sort by this value when the heading is pressed. */
  sort?: (row: T) => string | number | null | undefined;
}

interface Props<T> {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string;
  /** Called with `Enter` or a press; rows are then reachable by keyboard. */
  open?: (row: T) => void;
  selected?: string | undefined;
  empty?: ReactNode;
}

/** A table; arrows or J and K move between rows, Enter opens one. */
export function DataTable<T>({ label, columns, rows, rowKey, open, selected, empty }: Props<T>) {
  const [order, setOrder] = useState<{ key: string; down: boolean }>();
  const body = useRef<HTMLTableSectionElement>(null);
  const by = columns.find(({ key }) => key === order?.key)?.sort;
  const shown = by ? [...rows].sort((a, b) => compare(by(a), by(b)) * (order?.down ? -1 : 1)) : rows;

  const pressed = (event: KeyboardEvent<HTMLTableRowElement>, row: T) => {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const all = [...(body.current?.querySelectorAll<HTMLElement>("tr") ?? [])];
      all[all.indexOf(event.currentTarget) + step]?.focus();
    } else if (event.key === "Enter" && event.target === event.currentTarget) open?.(row);
  };

  if (rows.length === 0 && empty !== undefined) return <div className="table-empty">{empty}</div>;
  return (
    <table aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ key, title, align, sort }) => (
            <th key={key} className={align === "right" ? "r" : ""} scope="col" aria-sort={order?.key === key ? (order.down ? "descending" : "ascending") : undefined}>
              {sort ? (
                <button type="button" className="sort" onClick={() => setOrder({ key, down: order?.key === key && !order.down })}>
                  {title}
                  {order?.key === key && <span aria-hidden="true">{order.down ? " ↓" : " ↑"}</span>}
                </button>
              ) : (
                title
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={body}>
        {shown.map((row, at) => {
          const key = rowKey(row);
          const isSelected = key === selected;
          return (
            <tr
              key={key}
              className={`${isSelected ? "sel" : ""} ${open ? "can" : ""}`}
              tabIndex={open ? (isSelected || (selected === undefined && at === 0) ? 0 : -1) : undefined}
              aria-selected={open ? isSelected : undefined}
              onClick={open && (() => open(row))}
              onKeyDown={open && ((event) => pressed(event, row))}
            >
              {columns.map(({ key: column, cell, align }) => (
                <td key={column} className={align === "right" ? "r" : ""}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function compare(a: string | number | null | undefined, b: string | number | null | undefined): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return a < b ? -1 : 1;
}
