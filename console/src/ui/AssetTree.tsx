/** Assets as a tree with lifecycle and condition as columns; keys as in any tree. */
import { useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Icon } from "./Icon";
import { StateMark } from "./StateMark";

export interface TreeAsset {
  id: string;
  parentId: string | null;
  name: string;
  lifecycle: string;
  condition: string;
  note?: ReactNode;
}

interface Props {
  assets: readonly TreeAsset[];
  selected: string | undefined;
  select: (id: string) => void;
  label: string;
  /** Show only assets whose name has this text, with those above them. */
  filter?: string;
}

interface Row {
  asset: TreeAsset;
  level: number;
  hasChildren: boolean;
}

export function AssetTree({ assets, selected, select, label, filter = "" }: Props) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const tree = useRef<HTMLUListElement>(null);
  const rows = useMemo(() => rowsOf(assets, closed, filter.trim().toLowerCase()), [assets, closed, filter]);
  const focusable = rows.some(({ asset }) => asset.id === selected) ? selected : rows[0]?.asset.id;

  const toggle = (id: string, isOpen: boolean) => {
    const next = new Set(closed);
    if (isOpen) next.delete(id);
    else next.add(id);
    setClosed(next);
  };
  const focus = (id: string | null | undefined) => {
    if (!id) return;
    select(id);
    tree.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`)?.focus();
  };
  const pressed = (event: KeyboardEvent, { asset, hasChildren }: Row) => {
    const at = rows.findIndex((row) => row.asset.id === asset.id);
    const isOpen = hasChildren && !closed.has(asset.id);
    const steps: Record<string, () => void> = {
      ArrowDown: () => focus(rows[at + 1]?.asset.id),
      ArrowUp: () => focus(rows[at - 1]?.asset.id),
      j: () => focus(rows[at + 1]?.asset.id),
      k: () => focus(rows[at - 1]?.asset.id),
      Home: () => focus(rows[0]?.asset.id),
      End: () => focus(rows.at(-1)?.asset.id),
      ArrowRight: () => (hasChildren && !isOpen ? toggle(asset.id, true) : isOpen ? focus(rows[at + 1]?.asset.id) : undefined),
      ArrowLeft: () => (isOpen ? toggle(asset.id, false) : focus(asset.parentId)),
      Enter: () => select(asset.id),
    };
    const step = steps[event.key];
    if (step) {
      event.preventDefault();
      event.stopPropagation();
      step();
    }
  };

  return (
    <ul className="tree" role="tree" aria-label={label} ref={tree}>
      {rows.map((row) => {
        const { asset, level, hasChildren } = row;
        return (
          <li
            key={asset.id}
            data-id={asset.id}
            role="treeitem"
            aria-level={level}
            aria-expanded={hasChildren ? !closed.has(asset.id) : undefined}
            aria-selected={asset.id === selected}
            tabIndex={asset.id === focusable ? 0 : -1}
            className={asset.id === selected ? "sel" : ""}
            onClick={() => select(asset.id)}
            onKeyDown={(event) => pressed(event, row)}
          >
            <span className="n" style={{ paddingLeft: 14 + (level - 1) * 20 }}>
              {hasChildren ? (
                <button
                  type="button"
                  className="twist"
                  tabIndex={-1}
                  aria-hidden="true"
                  onClick={(event) => {
                    event.stopPropagation();
                    toggle(asset.id, closed.has(asset.id));
                  }}
                >
                  <Icon name={closed.has(asset.id) ? "right" : "down"} />
                </button>
              ) : (
                <span className="twist" />
              )}
              <Icon name="asset" className="t" />
              <span className={hasChildren ? "b cut" : "cut"}>{asset.name}</span>
              {asset.note !== undefined && <span className="dim xs nowrap">{asset.note}</span>}
            </span>
            <StateMark state={asset.lifecycle} schema="AssetLifecycle" />
            <StateMark state={asset.condition} schema="AssetCondition" />
          </li>
        );
      })}
    </ul>
  );
}

function rowsOf(assets: readonly TreeAsset[], closed: ReadonlySet<string>, filter: string): Row[] {
  const known = new Set(assets.map(({ id }) => id));
  const below = new Map<string | null, TreeAsset[]>();
  for (const asset of assets) {
    const parent = asset.parentId !== null && known.has(asset.parentId) ? asset.parentId : null;
    below.set(parent, [...(below.get(parent) ?? []), asset]);
  }
  const rows: Row[] = [];
  const walk = (parent: string | null, level: number): boolean => {
    let isAnyShown = false;
    for (const asset of below.get(parent) ?? []) {
      const at = rows.length;
      const hasChildren = below.has(asset.id);
      rows.push({ asset, level, hasChildren });
      const isBelowShown = hasChildren && (filter !== "" || !closed.has(asset.id)) && walk(asset.id, level + 1);
      const isShown = filter === "" || isBelowShown || asset.name.toLowerCase().includes(filter);
      if (!isShown) rows.splice(at);
      isAnyShown ||= isShown;
    }
    return isAnyShown;
  };
  walk(null, 1);
  return rows;
}
