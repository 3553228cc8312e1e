import type { ReactNode } from "react";
import { OperationButton } from "../../actions";
import type { CommandName, QueryName, Read } from "../../api";
import { operationTitle } from "../../text";
import { DataTable, EmptyState, Loaded, Panel, type Column } from "../../ui";
import { useGo } from "./places";

interface Props<T> {
  title: string;
  read: Read<{ items: T[]; next_cursor: string | null }>;
  operation: QueryName;
  /** The command that makes another one. */
  create: CommandName;
  kind: string;
  columns: readonly Column<T>[];
  idOf: (row: T) => string;
  selected: string | undefined;
  /** What is said when there is none. */
  none: string;
  /** What is said when there are more than are shown. */
  more: string;
  children: (id: string) => ReactNode;
}

/** Show a list of objects, and next to it the chosen one; without a choice, the first. */
export function Listed<T>({ title, read, operation, create, kind, columns, idOf, selected, none, more, children }: Props<T>) {
  const go = useGo();
  const items = read.data?.items ?? [];
  const [first] = items;
  const chosen = selected ?? (first === undefined ? undefined : idOf(first));
  const button = <OperationButton operation={create}>{operationTitle(create)}</OperationButton>;
  return (
    <div className={chosen ? "data-body" : "data-body alone"}>
      <Panel title={title} flush end={items.length > 0 && <OperationButton operation={create} size="small" hideReason />}>
        <Loaded read={read} what={title.toLowerCase()} operation={operation}>
          {(data) => (
            <>
              <DataTable
                label={title}
                columns={columns}
                rows={data.items}
                rowKey={idOf}
                open={(row) => go(kind, idOf(row))}
                selected={chosen}
                empty={<EmptyState action={button}>{none}</EmptyState>}
              />
              {data.next_cursor && <p className="pad dim sm">{more}</p>}
            </>
          )}
        </Loaded>
      </Panel>
      {chosen && children(chosen)}
    </div>
  );
}
