/** What depends on one revision of a calibration: the runs that pinned it and the data that used it. */
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback, useEffect, useId, useMemo, useState } from "react";
import { OperationButton } from "../../actions";
import { namesIn, newKey, Problem, useRead, useService, type Answer, type Names } from "../../api";
import { useMay } from "../../auth";
import { affectedBy } from "../../feed/invalidation";
import { bytes, plural, stateText } from "../../text";
import { useAsOf, useNow, useZone } from "../../time";
import { ActionButton, Callout, Icon, Loaded, ObjectName, Panel, StateMark } from "../../ui";
import { Graph, type GraphEdge, type GraphNode } from "../../ui/Graph";
import { announce, placeOf, useOpen } from "../../view";
import { searchFor, useGo } from "./places";
import { calibrationText, sourceOf, uncertaintyText, valueText } from "./values";

type Revision = Answer<"get_calibration_revision">;
type Calibration = Answer<"get_calibration">;
type Provenance = Answer<"get_provenance">;
type Dataset = Answer<"list_datasets">["items"][number];

const DEPTH = 6;
const MOST = 100;
/** More runs than this are one box, and more datasets than this are another. */
const [FEW_RUNS, FEW_DATASETS] = [3, 40];

export default function Impact({ revisionId }: { revisionId: string }) {
  const revision = useRead("get_calibration_revision", { revision_id: revisionId });
  return (
    <div className="main data impact">
      <Loaded read={revision} what="the revision" operation="get_calibration_revision">
        {(data) => <Shown revision={data} />}
      </Loaded>
    </div>
  );
}

function Shown({ revision }: { revision: Revision }) {
  const calibration = useRead("get_calibration", { calibration_id: revision.calibration_id });
  const provenance = useRead(
    "get_provenance",
    { kind: "CalibrationRevision", id: revision.revision_id, direction: "downstream", depth: DEPTH },
    { keep: true },
  );
  const used = useRead("list_datasets", { used_calibration_id: revision.revision_id, limit: MOST }, { keep: true });
  const [focused, setFocused] = useState<string>();
  const isWrong = revision.superseded_by_revision_id !== null;
  const data = used.data?.items;
  return (
    <>
      <Head revision={revision} calibration={calibration.data} />
      <div className="data-body">
        <Loaded read={provenance} what="what depends on the revision" operation="get_provenance">
          {(graph) => (
            <Picture revision={revision} calibration={calibration.data} graph={graph} datasets={data ?? NO_DATASETS} isWrong={isWrong} focused={focused} focus={setFocused} />
          )}
        </Loaded>
        <section className="panel side" aria-label="Datasets that used the revision">
          {provenance.data && data && <Counts datasets={data} graph={provenance.data} />}
          <Loaded read={used} what="the datasets" operation="list_datasets">
            {(list) => (
              <Retract
                key={revision.revision_id}
                datasets={list.items}
                names={namesIn(list)}
                isMore={list.next_cursor !== null}
                isWrong={isWrong}
                focused={focused}
                focus={setFocused}
              />
            )}
          </Loaded>
        </section>
      </div>
    </>
  );
}

const NO_DATASETS: readonly Dataset[] = [];

function numberOf(calibration: Calibration | undefined, id: string | null): string {
  const at = calibration?.revisions.findIndex(({ revision_id }) => revision_id === id) ?? -1;
  return at >= 0 ? `Revision ${at + 1}` : "Revision";
}

function Head({ revision, calibration }: { revision: Revision; calibration: Calibration | undefined }) {
  const names = namesIn(revision);
  const { asOf } = useAsOf();
  const other = revision.superseded_by_revision_id ?? revision.supersedes_revision_id;
  const beside = calibration?.revisions.find(({ revision_id }) => revision_id === other);
  const cards = revision.superseded_by_revision_id ? [revision, beside] : [beside, revision];
  return (
    <header className="data-head">
      <div className="grow">
        <nav className="dim sm" aria-label="Above this revision">
          <Link to="/data" search={searchFor()}>
            Data
          </Link>
          {" › "}
          <Link to="/data" search={searchFor("calibrations")}>
            Calibrations
          </Link>
          {" › "}
          <Link to={`/data/Calibration/${revision.calibration_id}`} search={searchFor()}>
            {names[revision.asset_id]?.name ?? "asset (no access)"}
          </Link>
        </nav>
        <h1 className="screen-title cut">{calibrationText(revision.quantity, revision.operating_point)}</h1>
      </div>
      {!asOf && (
        <OperationButton
          operation="append_calibration_revision"
          about={{ calibration_id: revision.calibration_id, supersedes_revision_id: calibration?.current_revision_id ?? revision.revision_id }}
          initial={{ value: revision.value }}
          hideReason
        >
          Append a revision
        </OperationButton>
      )}
      <div className="rev">
        {cards.map((each) => each && <Card key={each.revision_id} revision={each} calibration={calibration} quantity={revision.quantity} isShown={each.revision_id === revision.revision_id} />)}
      </div>
    </header>
  );
}

function Card({ revision, calibration, quantity, isShown }: { revision: Calibration["revisions"][number]; calibration: Calibration | undefined; quantity: Revision["quantity"]; isShown: boolean }) {
  const go = useGo();
  const zone = useZone();
  const now = useNow(60_000);
  const next = calibration?.revisions.find(({ revision_id }) => revision_id === revision.superseded_by_revision_id);
  const isWrong = revision.superseded_by_revision_id !== null;
  const uncertainty = uncertaintyText(revision.value);
  return (
    <button type="button" className={`rev-card ${isWrong ? "wrong" : ""}`} aria-current={isShown ? "true" : undefined} onClick={() => go("CalibrationRevision", revision.revision_id)}>
      <span className="row sm">
        <Icon name={isWrong ? "blocks" : "normal"} className={isWrong ? "alarm" : ""} />
        {numberOf(calibration, revision.revision_id)}, {isWrong ? `superseded${next ? ` ${zone.stamp(next.established_at, now)}` : ""}` : "current"}
        {isShown && <span className="hidden"> (shown)</span>}
      </span>
      <span>
        <b className="v">{valueText(quantity, revision.value)}</b>{" "}
        <span className="sm dim">
          {uncertainty && `${uncertainty} · `}
          {sourceOf(revision.source).word} {zone.stamp(revision.established_at, now)}
        </span>
      </span>
    </button>
  );
}

interface PictureProps {
  revision: Revision;
  calibration: Calibration | undefined;
  graph: Provenance;
  datasets: readonly Dataset[];
  isWrong: boolean;
  focused: string | undefined;
  focus: (id: string) => void;
}

const COLUMNS = ["Source", "Calibration", "Pinned by", "Used by", "Downstream"] as const;

function Picture({ revision, calibration, graph, datasets, isWrong, focused, focus }: PictureProps) {
  const open = useOpen();
  const go = useGo();
  const zone = useZone();
  const { asOf } = useAsOf();
  const { nodes, edges } = useMemo(
    () => pictured({ revision, calibration, graph, datasets, isWrong, at: (moment) => zone.minute(moment) }),
    [calibration, datasets, graph, isWrong, revision, zone],
  );
  const shown = useMemo(() => nodes.map((node) => ({ ...node, isFocus: node.id === focused })), [focused, nodes]);
  const opened = useCallback(
    ({ kind, id }: GraphNode) => {
      if (id.startsWith("many ")) return;
      if (datasets.some(({ dataset_id }) => dataset_id === id)) focus(id);
      else if (kind === "CalibrationRevision") go(kind, id);
      else if (kind === "Dataset") go(kind, id, "lineage");
      else {
        const place = placeOf(kind, id);
        if (place) open(place);
      }
    },
    [datasets, focus, go, open],
  );
  return (
    <Panel
      title="Impact"
      flush
      className="lineage"
      note={
        <span className="legend">
          {isWrong && (
            <span className="row">
              <Icon name="blocks" className="alarm" />
              affected, not retracted
            </span>
          )}
          <span className="row">
            <Icon name="denied" />
            retracted
          </span>
          {graph.truncated && <span>more depends on it than is shown</span>}
          {asOf && <span className="chip">current, not as of the viewed time</span>}
        </span>
      }
    >
      <Graph nodes={shown} edges={edges} columns={COLUMNS} label="Impact of the revision" open={opened} />
    </Panel>
  );
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
  for (const [isUsed, words] of [[true, "pinned and used it"], [false, "pinned, not used"]] as const) {
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
    nodes.push({ id: own, kind, name, state, note: `${stateText(state)}, ${kind === "Edition" ? "edition" : "derived"}`, icon: kind === "Edition" ? "document" : isWrong ? "caution" : "data", column: 4 });
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

/** Return the datasets and editions that came of these datasets, and not what their runs made beside them. */
function laterThan(datasets: ReadonlySet<string> | ReadonlyMap<string, unknown>, { nodes, edges }: Pick<Provenance, "nodes" | "edges">): Provenance["nodes"] {
  const reached = new Set(datasets.keys());
  // A set is walked in the order in which it grows, so what is added is walked too.
  for (const id of reached)
    for (const { from, to, relation } of edges) {
      if (relation === "derived_from" && to === id) reached.add(from);
      if (relation === "part_of" && from === id) reached.add(to);
    }
  return nodes.filter(({ id }) => reached.has(id) && !datasets.has(id));
}

function Counts({ datasets, graph }: { datasets: readonly Dataset[]; graph: Provenance }) {
  const used = new Set(datasets.map(({ dataset_id }) => dataset_id));
  const standing = datasets.filter(({ intent }) => intent !== "Retracted").length;
  const later = laterThan(used, graph);
  const downstream = later.filter(({ kind }) => kind === "Dataset").length;
  const editions = later.filter(({ kind }) => kind === "Edition");
  const published = editions.filter(({ state }) => state === "Published").length;
  const cells = [
    { count: standing, text: `of ${plural(datasets.length, "dataset")} not retracted`, isBad: standing > 0 },
    { count: downstream, text: "downstream" },
    { count: editions.length - published, text: "editions not published" },
    { count: published, text: "editions published", isBad: published > 0 },
  ];
  return (
    <div className="cnt">
      {cells.map(({ count, text, isBad }) => (
        <div key={text}>
          <b className={isBad ? "alarm" : ""}>{count}</b>
          <span>{text}</span>
        </div>
      ))}
    </div>
  );
}

/** What the dry runs, or the commands, of several datasets have answered. */
interface Progress {
  phase: "checking" | "checked" | "sending" | "ended";
  done: number;
  proposed: number;
  refused: { name: string; problem: Problem } | undefined;
}

interface RetractProps {
  datasets: readonly Dataset[];
  names: Names;
  isMore: boolean;
  isWrong: boolean;
  focused: string | undefined;
  focus: (id: string) => void;
}

/** Choose datasets and demote them one by one; the first refusal ends it. */
function Retract({ datasets, names, isMore, isWrong, focused, focus }: RetractProps) {
  const may = useMay();
  const { asOf } = useAsOf();
  const offerFor = (dataset: Dataset) => may("demote_dataset", { intent: dataset.intent });
  const [without, setWithout] = useState<ReadonlySet<string>>(new Set());
  const [reason, setReason] = useState("");
  const field = useId();
  const offered = datasets.filter((dataset) => isWrong && offerFor(dataset).isEnabled);
  const chosen = offered.filter(({ dataset_id }) => !without.has(dataset_id));
  const { progress, send } = useDemotions(chosen, reason.trim());
  const isBusy = progress?.phase === "checking" || progress?.phase === "sending";
  const permitted = may("demote_dataset");
  const why = !permitted.isEnabled
    ? permitted.reason
    : chosen.length === 0
      ? "No dataset is chosen"
      : !reason.trim()
        ? "Missing: Reason"
        : progress?.refused
          ? "A dry run was refused"
          : undefined;
  return (
    <>
      <div className="scroll grow">
        {datasets.length === 0 && <p className="pad dim">No dataset used this revision.</p>}
        <table className="retract" aria-label="Datasets that used the revision">
          <tbody>
            {datasets.map((dataset) => {
              const offer = offerFor(dataset);
              const isOffered = isWrong && offer.isEnabled;
              return (
                <tr key={dataset.dataset_id} className={dataset.dataset_id === focused ? "sel" : ""} onMouseEnter={() => focus(dataset.dataset_id)}>
                  <td>
                    <input
                      type="checkbox"
                      aria-label={`Demote ${dataset.name}`}
                      checked={isOffered && !without.has(dataset.dataset_id)}
                      disabled={!isOffered}
                      title={isOffered ? undefined : offer.reason}
                      onFocus={() => focus(dataset.dataset_id)}
                      onChange={(event) => {
                        const next = new Set(without);
                        if (event.target.checked) next.delete(dataset.dataset_id);
                        else next.add(dataset.dataset_id);
                        setWithout(next);
                      }}
                    />
                  </td>
                  <td>
                    <ObjectName id={dataset.dataset_id} name={dataset.name} kind="Dataset" plain />
                    <div className="dim xs cut">{dataset.producing_run_id ? (names[dataset.producing_run_id]?.name ?? "run (no access)") : "no run"}</div>
                  </td>
                  <td className="r dim nowrap">{bytes(dataset.byte_size)}</td>
                  <td className="nowrap">
                    {dataset.intent === "Retracted" || !isWrong ? (
                      <span className="dim">{stateText(dataset.intent)}</span>
                    ) : (
                      <StateMark mark="blocks">{stateText(dataset.intent)}</StateMark>
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
        {isMore && <p className="pad dim sm">The first {MOST} datasets are shown. Demote them, then the next ones follow.</p>}
      </div>
      {isWrong && !asOf && datasets.length > 0 && (
        <div className="retract-foot">
          {offered.length > 0 && (
            <div className="field">
              <label htmlFor={field}>Reason (stored with each dataset)</label>
              <textarea id={field} className="in" value={reason} onChange={(event) => setReason(event.target.value)} />
            </div>
          )}
          {progress && <Told progress={progress} count={chosen.length} />}
          <div className="row wrap">
            <ActionButton look="terminal" press={() => void send()} reason={offered.length === 0 && permitted.isEnabled ? "No dataset can be demoted" : why} isBusy={isBusy}>
              {permitted.verdict === "proposable" ? "Propose to demote" : "Demote"} {plural(chosen.length, "dataset")}
              {permitted.verdict === "permitted" && " permanently"}
            </ActionButton>
          </div>
        </div>
      )}
    </>
  );
}

function Told({ progress, count }: { progress: Progress; count: number }) {
  const { phase, done, proposed, refused } = progress;
  if (refused)
    return (
      <Callout mark={refused.problem.isOutcomeUnknown && phase === "ended" ? "unknown" : "blocks"} title={`${refused.name}: ${refused.problem.body.title ?? refused.problem.message}`}>
        {phase === "ended" ? `${done} of ${count} demoted before this. The others are unchanged.` : `Dry run: ${done} of ${count} accepted. Nothing written.`}{" "}
        <code>{refused.problem.code}</code>
      </Callout>
    );
  if (phase === "checking") return <p className="dim sm">Dry run of {plural(count, "dataset")}…</p>;
  if (phase === "sending") return <p className="dim sm">{`${done} of ${count} demoted…`}</p>;
  if (phase === "ended") return <Callout mark="done" title={proposed > 0 ? `${plural(proposed, "proposal")} waiting for approval` : `${plural(done, "dataset")} demoted`} />;
  return (
    <Callout mark="progress" icon="normal" title={`Dry run: ${done} of ${count} accepted`}>
      Writes DatasetDemoted {count === 1 ? "once" : `${count} times`}. Datasets downstream are not changed.
    </Callout>
  );
}

const DRY_RUN_MS = 250;

/** Return the dry runs of the demotion of several datasets, and a function that carries them out. */
function useDemotions(chosen: readonly Dataset[], reason: string): { progress: Progress | undefined; send: () => Promise<void> } {
  const service = useService();
  const queries = useQueryClient();
  const [progress, setProgress] = useState<Progress>();
  const ids = chosen.map(({ dataset_id }) => dataset_id).join(" ");

  useEffect(() => {
    if (!reason || !ids) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      void (async () => {
        setProgress({ phase: "checking", done: 0, proposed: 0, refused: undefined });
        let done = 0;
        for (const dataset_id of ids.split(" ")) {
          try {
            await service.dryRun("demote_dataset", { dataset_id, reason }, stop.signal);
            done += 1;
          } catch (error) {
            if (stop.signal.aborted || !(error instanceof Problem)) return;
            const name = chosen.find((dataset) => dataset.dataset_id === dataset_id)?.name ?? "dataset";
            setProgress({ phase: "checked", done, proposed: 0, refused: { name, problem: error } });
            return;
          }
        }
        if (!stop.signal.aborted) setProgress({ phase: "checked", done, proposed: 0, refused: undefined });
      })();
    }, DRY_RUN_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
    // The names belong to the ids.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [ids, reason, service]);

  const send = async () => {
    if (progress?.phase !== "checked" || progress.refused) return;
    let [done, proposed] = [0, 0];
    const tell = (phase: Progress["phase"], refused?: Progress["refused"]) => setProgress({ phase, done, proposed, refused });
    tell("sending");
    for (const { dataset_id, name } of chosen) {
      try {
        const sent = await service.send("demote_dataset", { dataset_id, reason }, { key: newKey() });
        if (sent.proposalId) proposed += 1;
        else done += 1;
        tell("sending");
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        tell("ended", { name, problem: error });
        break;
      }
    }
    if (done + proposed === chosen.length) tell("ended");
    announce(`${done} of ${chosen.length} datasets demoted.`);
    const affected = affectedBy("Dataset");
    await queries.invalidateQueries({ predicate: ({ queryKey }) => affected.has(String(queryKey[0])) });
  };
  return { progress, send };
}
