import { useCallback, useId, useMemo, useState } from "react";
import { usePick } from "../../actions";
import { useRead, type Answer, type Words } from "../../api";
import { fieldLabel, plural, stateText } from "../../text";
import { EmptyState, Loaded, ObjectPicker, Panel } from "../../ui";
import { Graph, type GraphEdge, type GraphNode } from "../../ui/Graph";
import { useOpen, placeOf } from "../../view";
import { useGo } from "./places";

type Kind = Words["ProvenanceKind"];
type Graphed = Answer<"get_provenance">;
type Direction = Words["WalkDirection"];

const KINDS: readonly Kind[] = ["Dataset", "Run", "Subject", "Asset", "CalibrationRevision", "Edition"];
/** More boxes of one kind next to the same object are shown as one. */
const MOST_SIBLINGS = 40;

/** Show what an object came of, and what came of it. */
export default function Lineage({ kind, id }: { kind: string | undefined; id: string | undefined }) {
  const known = KINDS.find((each) => each === kind);
  const newest = useRead("list_datasets", { limit: 1, order: "newest" }, { when: !known || !id });
  const shownKind = known && id ? known : "Dataset";
  const shownId = known && id ? id : newest.data?.items[0]?.dataset_id;
  const [direction, setDirection] = useState<Direction>("both");
  const [depth, setDepth] = useState(3);
  const provenance = useRead("get_provenance", { kind: shownKind, id: shownId ?? "", direction, depth }, { when: shownId !== undefined, keep: true });
  const pick = usePick();
  const go = useGo();
  const field = useId();
  const focus = provenance.data?.nodes.find((node) => node.id === shownId);
  return (
    <Panel
      title={focus ? `Lineage of ${nameOf(focus)}` : "Lineage"}
      note={provenance.data && `${plural(provenance.data.nodes.length, "object")}${provenance.data.truncated ? ", and more that are not shown" : ""}`}
      flush
      className="lineage"
      end={
        <>
          <label className="hidden" htmlFor={field}>
            Dataset whose lineage is shown
          </label>
          <span className="lineage-pick">
            <ObjectPicker
              id={field}
              label="Datasets"
              kind="Dataset"
              pick={pick}
              value={shownKind === "Dataset" ? (shownId ?? "") : ""}
              change={(chosen) => {
                if (chosen) go("Dataset", chosen, "lineage");
              }}
            />
          </span>
          <label>
            <span className="hidden">Direction</span>
            <select className="in pick" value={direction} onChange={(event) => setDirection(event.target.value as Direction)}>
              <option value="both">Both directions</option>
              <option value="upstream">What it came of</option>
              <option value="downstream">What came of it</option>
            </select>
          </label>
          <label>
            <span className="hidden">Depth</span>
            <select className="in pick" value={depth} onChange={(event) => setDepth(Number(event.target.value))}>
              {[1, 2, 3, 5, 10].map((each) => (
                <option key={each} value={each}>
                  {plural(each, "step")}
                </option>
              ))}
            </select>
          </label>
        </>
      }
    >
      {newest.data?.items.length === 0 && !(known && id) ? (
        <div className="pad">
          <EmptyState>No dataset is registered. Lineage begins with a dataset.</EmptyState>
        </div>
      ) : (
        <Loaded read={provenance} what="the lineage" operation="get_provenance">
          {(data) => <Drawn data={data} />}
        </Loaded>
      )}
    </Panel>
  );
}

const nameOf = ({ kind, name }: Graphed["nodes"][number]) => (kind === "CalibrationRevision" ? fieldLabel(name) : name);

function Drawn({ data }: { data: Graphed }) {
  const go = useGo();
  const open = useOpen();
  const { nodes, edges } = useMemo(() => collapsed(data), [data]);
  const opened = useCallback(
    ({ kind, id }: GraphNode) => {
      if (id.startsWith("many ")) return;
      if (kind === "CalibrationRevision") go(kind, id);
      else if (kind === "Dataset") go(kind, id, "lineage");
      else {
        const place = placeOf(kind, id);
        if (place) open(place);
      }
    },
    [go, open],
  );
  return <Graph nodes={nodes} edges={edges} label="Lineage" open={opened} />;
}

/** Return the boxes and lines of a graph, with many siblings of one kind as one box. */
export function collapsed({ nodes, edges, id: focus }: Pick<Graphed, "nodes" | "edges" | "id">): { nodes: GraphNode[]; edges: GraphEdge[] } {
  const depths = new Map(nodes.map((node) => [node.id, node.depth]));
  // The relation is stated from the later object; the picture runs from the earlier to the later one.
  const drawn = edges.map(({ from, to, relation }) => {
    const isForward = (depths.get(from) ?? 0) < (depths.get(to) ?? 0);
    return isForward ? { from, to, relation: words(relation) } : { from: to, to: from, relation: BACK[relation] };
  });
  const siblings = new Map<string, string[]>();
  for (const { id, kind, depth } of nodes) {
    if (id === focus) continue;
    const neighbours = drawn.flatMap(({ from, to }) => (from === id ? [`>${to}`] : to === id ? [`<${from}`] : []));
    const key = [kind, depth, ...neighbours.sort()].join(" ");
    siblings.set(key, [...(siblings.get(key) ?? []), id]);
  }
  const groupOf = new Map<string, string>();
  for (const [key, ids] of siblings) if (ids.length > MOST_SIBLINGS) for (const id of ids) groupOf.set(id, `many ${key}`);
  const boxes = new Map<string, GraphNode>();
  for (const node of nodes) {
    const group = groupOf.get(node.id);
    const count = group ? [...groupOf.values()].filter((each) => each === group).length : 0;
    if (group) boxes.set(group, { id: group, kind: node.kind, name: plural(count, MANY[node.kind]), note: "alike, shown as one" });
    else
      boxes.set(node.id, {
        id: node.id,
        kind: node.kind,
        name: nameOf(node),
        state: node.state,
        note: `${ONE[node.kind]}, ${stateText(node.state).toLowerCase()}`,
        isFocus: node.id === focus,
      });
  }
  const lines = new Map<string, GraphEdge>();
  for (const { from, to, relation } of drawn) {
    const edge = { from: groupOf.get(from) ?? from, to: groupOf.get(to) ?? to, relation };
    lines.set(`${edge.from} ${relation} ${edge.to}`, edge);
  }
  return { nodes: [...boxes.values()], edges: [...lines.values()] };
}

const words = (relation: string) => relation.replaceAll("_", " ");
const ONE: Record<Kind, string> = { Dataset: "dataset", Run: "run", Subject: "subject", Asset: "asset", CalibrationRevision: "calibration", Edition: "edition" };
const MANY: Record<Kind, string> = { ...ONE, CalibrationRevision: "calibration revision" };
/** Each relation stated from the earlier object. */
const BACK: Record<Words["ProvenanceRelation"], string> = {
  derived_from: "is the source of",
  produced_by: "produced",
  acquired_by: "acquired",
  about: "is the subject of",
  used_calibration: "was used by",
  pinned: "was pinned by",
  computed_from: "is the source of",
  part_of: "contains",
};
