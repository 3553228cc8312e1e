/** Equipment: every asset with lifecycle and condition, where it is, what depends on it, what happened to it. */
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo, useRef, useState } from "react";
import { OperationButton } from "../../actions";
import { namesIn, useRead, type Answer } from "../../api";
import { plural } from "../../text";
import { useAsOf } from "../../time";
import { AssetTree, EmptyState, Loaded, Panel, StateMark, type TreeAsset } from "../../ui";
import { useBeamline, useKeys, type ScreenProps } from "../../view";
import { Dependents } from "./Dependents";
import { Detail } from "./Detail";
import "./equipment.css";
import { TimeBar } from "./TimeBar";

type Tree = Answer<"get_asset_tree">;

export default function Equipment({ id }: ScreenProps) {
  const { unitId } = useBeamline();
  const tree = useRead("get_asset_tree", { asset_id: unitId ?? "" }, { when: unitId !== undefined, keep: true });
  const navigate = useNavigate();
  const { asOf } = useAsOf();
  const selected = id ?? unitId;
  // The viewed time stays the same from one asset to the next.
  const select = useCallback((asset: string) => void navigate({ to: `/equipment/${asset}`, replace: true, search: (before: object) => before } as never), [navigate]);
  const nodes = useMemo(() => new Map((tree.data?.nodes ?? []).map((node) => [node.id, node])), [tree.data]);
  if (!unitId)
    return (
      <div className="main">
        <h1 className="screen-title">Equipment</h1>
        <Panel title="No beamline">
          <EmptyState action={<OperationButton operation="register_asset" initial={{ tier: "Unit" }} />}>
            No beamline is registered. A beamline is an asset of tier Unit without a parent.
          </EmptyState>
        </Panel>
      </div>
    );
  return (
    <div className="main equipment">
      <Panel
        title="Equipment"
        note={tree.data && plural(tree.data.nodes.length, "asset")}
        flush
        className="assets"
        end={
          <>
            <span className="xs dim col-life">Lifecycle</span>
            <span className="xs dim col-cond">Condition</span>
          </>
        }
      >
        <Loaded read={tree} what="equipment" operation="get_asset_tree">
          {(data) => <Assets tree={data} selected={selected} select={select} />}
        </Loaded>
      </Panel>
      {selected && <Detail key={selected} assetId={selected} nodes={nodes} select={select} />}
      {selected && <Dependents key={`${selected} dependents`} assetId={selected} />}
      <TimeBar key={asOf ? "past" : "now"} />
    </div>
  );
}

const HEALTH = [
  { axis: "condition", state: "Faulted", schema: "AssetCondition" },
  { axis: "condition", state: "Degraded", schema: "AssetCondition" },
  { axis: "lifecycle", state: "Maintenance", schema: "AssetLifecycle" },
] as const;

function Assets({ tree, selected, select }: { tree: Tree; selected: string | undefined; select: (id: string) => void }) {
  const [filter, setFilter] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => field.current?.focus() });
  const names = namesIn(tree);
  const assets = useMemo(() => {
    const enclosures = new Map(tree.nodes.map((node) => [node.id, node.located_in_enclosure_id]));
    return tree.nodes.map(({ id, name, parent_id, tier, lifecycle, condition, located_in_enclosure_id }): TreeAsset => {
      // An asset says where it is only when the asset above it is somewhere else.
      const isElsewhere = located_in_enclosure_id && enclosures.get(parent_id ?? "") !== located_in_enclosure_id;
      const note = tier === "Unit" ? "beamline" : isElsewhere ? names[located_in_enclosure_id]?.name : undefined;
      return { id, parentId: parent_id, name, lifecycle, condition, ...(note !== undefined && { note }) };
    });
  }, [names, tree.nodes]);
  return (
    <div className="assets-body">
      <div className="scroll">
        <AssetTree assets={assets} selected={selected} select={select} label="Equipment" filter={filter} />
        {tree.truncated && <p className="pad dim sm">The tree has more assets than are shown here.</p>}
      </div>
      <div className="assets-foot">
        {HEALTH.map(({ axis, state, schema }) => {
          const count = tree.nodes.filter((node) => node[axis] === state).length;
          return (
            count > 0 && (
              <StateMark key={state} as="chip" mark={MARKS[state]}>
                {count} {state === "Maintenance" ? "in Maintenance" : state}
                <span className="hidden"> ({schema === "AssetCondition" ? "condition" : "lifecycle"})</span>
              </StateMark>
            )
          );
        })}
        <label className="end row find">
          <span className="hidden">Find an asset by name</span>
          <input
            ref={field}
            className="in"
            placeholder="Find"
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Escape") {
                event.stopPropagation();
                setFilter("");
                event.currentTarget.blur();
              }
            }}
          />
          <kbd>/</kbd>
        </label>
      </div>
    </div>
  );
}

const MARKS = { Faulted: "blocks", Degraded: "caution", Maintenance: "held" } as const;
