/** The boxes and lines of what depends on a revision of a calibration. */
import { namesIn, type Answer, type Names } from "../../api";
import { plural, stateText } from "../../text";
import type { GraphEdge, GraphNode } from "../../ui/Graph";
import { sourceOf, valueText } from "./values";

export type Revision = Answer<"get_calibration_revision">;
export type Calibration = Answer<"get_calibration">;
export type Provenance = Answer<"get_provenance">;
export type Dataset = Answer<"list_datasets">["items"][number];

/** More runs than this are one box, and more datasets than this are another. */
const [FEW_RUNS, FEW_DATASETS] = [3, 40];

export function numberOf(calibration: Calibration | undefined, id: string | null): string {
  const at = calibration?.revisions.findIndex(({ revision_id }) => revision_id === id) ?? -1;
  return at >= 0 ? `Revision ${at + 1}` : "Revision";
}

interface Pictured {
  revision: Revision;
  calibration: Calibration | undefined;
  graph: Pick<Provenance, "nodes" | "edges">;
  datasets: readonly Dataset[];
  isWrong: boolean;
  at: (moment: string) => string;
}

/** Return the boxes and lines from the source of a revision to everything that came of it. */
export function pictured({ revision, calibration, graph, datasets, isWrong, at }: Pictured): { nodes: GraphNode[]; edges: GraphEdge[] } {
  const nodes: GraphNode[] = [];
  const edges: GraphEdge[] = [];
  const names: Names = { ...namesIn(calibration), ...namesIn(revision) };
  const id = revision.revision_id;
  const shownRevisions = (calibration?.revisions ?? [revision]).filter(
    ({ revision_id }) => revision_id === id || revision_id === revision.superseded_by_revision_id || revision_id === revision.supersedes_revision_id,
  );
  for (const each of shownRevisions) {
    const isThis = each.revision_id === id;
    const source = sourceOf(each.source);
    const isNew = each.revision_id === revision.superseded_by_revision_id;
    nodes.push({
      id: each.revision_id,
      kind: "CalibrationRevision",
      name: numberOf(calibration, each.revision_id),
      note: `${valueText(revision.quantity, each.value)}, ${isThis && isWrong ? "superseded" : stateText(each.status)}`,
      icon: isThis && isWrong ? "blocks" : "gauge",
      look: isThis ? (isWrong ? "bad" : undefined) : isNew ? "new" : "off",
      column: 1,
    });
    const sourceNode = `${source.id} ${each.revision_id}`;
    nodes.push({
      id: sourceNode,
      kind: source.kind,
      name: names[source.id]?.name ?? `${source.kind.toLowerCase()} (no access)`,
      note: `${source.word} ${at(each.established_at)}`,
      look: "off",
      column: 0,
    });
    edges.push({ from: sourceNode, to: each.revision_id, relation: source.word });
    if (each.supersedes_revision_id && shownRevisions.some(({ revision_id }) => revision_id === each.supersedes_revision_id))
      edges.push({ from: each.supersedes_revision_id, to: each.revision_id, relation: "superseded by", isVertical: true });
  }

  const used = new Map(datasets.map((dataset) => [dataset.dataset_id, dataset]));
  const lookOf = (intent: string): "hit" | "gone" | undefined => (intent === "Retracted" ? "gone" : isWrong ? "hit" : undefined);
  // Runs that pinned the revision: those whose data used it, and those whose data did not.
  const pinned = graph.nodes.filter((node) => node.kind === "Run" && graph.edges.some(({ from, to, relation }) => relation === "pinned" && from === node.id && to === id));
  const producing = new Set(datasets.map(({ producing_run_id }) => producing_run_id));
  const boxOfRun = new Map<string, string>();
  for (const [isUsed, words] of [
    [true, "pinned and used it"],
    [false, "pinned, not used"],
  ] as const) {
    const runs = pinned.filter((run) => producing.has(run.id) === isUsed);
    const isMany = runs.length > FEW_RUNS;
    for (const run of runs) {
      const box = isMany ? `many runs ${words}` : run.id;
      boxOfRun.set(run.id, box);
      if (!nodes.some((node) => node.id === box))
        nodes.push({ id: box, kind: "Run", name: isMany ? plural(runs.length, "run") : run.name, note: words, look: isUsed ? undefined : "off", column: 2 });
    }
    for (const box of new Set(runs.map((run) => boxOfRun.get(run.id) ?? run.id)))
      edges.push({ from: id, to: box, relation: "was pinned by", look: isUsed ? (isWrong ? "hit" : undefined) : "off" });
  }

  const groups = new Map<string, Dataset[]>();
  for (const dataset of datasets) {
    const key = datasets.length > FEW_DATASETS ? `many ${dataset.intent}` : dataset.dataset_id;
    groups.set(key, [...(groups.get(key) ?? []), dataset]);
  }
  const boxOfDataset = new Map<string, string>();
  for (const [box, members] of groups) {
    const [first] = members;
    if (!first) continue;
    const look = lookOf(first.intent);
    nodes.push({
      id: box,
      kind: "Dataset",
      name: members.length > 1 ? plural(members.length, "dataset") : first.name,
      note: `${stateText(first.intent)}, used it`,
      icon: look === "hit" ? "blocks" : look === "gone" ? "denied" : "data",
      look,
      column: 3,
    });
    for (const member of members) boxOfDataset.set(member.dataset_id, box);
    const sources = new Set(members.map(({ producing_run_id }) => boxOfRun.get(producing_run_id ?? "") ?? id));
    for (const from of sources) edges.push({ from, to: box, relation: from === id ? "was used by" : "produced", look });
  }

  // What came of the data that used it, however many steps later.
  const later = laterThan(used, graph);
  for (const { id: own, kind, name, state } of later)
    nodes.push({
      id: own,
      kind,
      name,
      state,
      note: `${stateText(state)}, ${kind === "Edition" ? "edition" : "derived"}`,
      icon: kind === "Edition" ? "document" : isWrong ? "caution" : "data",
      column: 4,
    });
  const laterIds = new Set(later.map((node) => node.id));
  const known = (each: string) => boxOfDataset.get(each) ?? (laterIds.has(each) ? each : undefined);
  for (const { from, to, relation } of graph.edges) {
    if (relation !== "derived_from" && relation !== "part_of") continue;
    // A derived dataset names its source; a dataset names the edition that it is part of.
    const [source, result] = relation === "derived_from" ? [known(to), known(from)] : [known(from), known(to)];
    if (source && result && laterIds.has(result)) edges.push({ from: source, to: result, relation: relation === "part_of" ? "is part of" : "is the source of" });
  }
  return { nodes, edges: [...new Map(edges.map((edge) => [`${edge.from} ${edge.relation} ${edge.to}`, edge])).values()] };
}

/** Return the datasets and editions that came of these datasets, and not what else their runs made. */
export function laterThan(datasets: ReadonlySet<string> | ReadonlyMap<string, unknown>, { nodes, edges }: Pick<Provenance, "nodes" | "edges">): Provenance["nodes"] {
  const reached = new Set(datasets.keys());
  // A set is walked in the order in which it grows, so what is added is walked too.
  for (const id of reached)
    for (const { from, to, relation } of edges) {
      if (relation === "derived_from" && to === id) reached.add(from);
      if (relation === "part_of" && from === id) reached.add(to);
    }
  return nodes.filter(({ id }) => reached.has(id) && !datasets.has(id));
}
