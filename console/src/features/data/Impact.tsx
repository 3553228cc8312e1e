/** What depends on one revision of a calibration: the runs that pinned it and the data that used it. */
import { Link } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { OperationButton } from "../../actions";
import { namesIn, useRead } from "../../api";
import { plural } from "../../text";
import { useAsOf, useNow, useZone } from "../../time";
import { Icon, Loaded, Panel } from "../../ui";
import { Graph, type GraphNode } from "../../ui/Graph";
import { placeOf, useOpen } from "../../view";
import { searchFor, useGo } from "./places";
import { calibrationText, sourceOf, uncertaintyText, valueText } from "./values";
import { laterThan, numberOf, pictured, type Calibration, type Dataset, type Provenance, type Revision } from "./impactGraph";
import { Retract } from "./Retract";

const DEPTH = 6;
const MOST = 100;

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
  const provenance = useRead("get_provenance", { kind: "CalibrationRevision", id: revision.revision_id, direction: "downstream", depth: DEPTH }, { keep: true });
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

function Head({ revision, calibration }: { revision: Revision; calibration: Calibration | undefined }) {
  const names = namesIn(revision);
  const { asOf } = useAsOf();
  const other = revision.superseded_by_revision_id ?? revision.supersedes_revision_id;
  const otherRevision = calibration?.revisions.find(({ revision_id }) => revision_id === other);
  const cards = revision.superseded_by_revision_id ? [revision, otherRevision] : [otherRevision, revision];
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
        {cards.map(
          (each) =>
            each && <Card key={each.revision_id} revision={each} calibration={calibration} quantity={revision.quantity} isShown={each.revision_id === revision.revision_id} />,
        )}
      </div>
    </header>
  );
}

function Card({
  revision,
  calibration,
  quantity,
  isShown,
}: {
  revision: Calibration["revisions"][number];
  calibration: Calibration | undefined;
  quantity: Revision["quantity"];
  isShown: boolean;
}) {
  const go = useGo();
  const zone = useZone();
  const now = useNow(60_000);
  const next = calibration?.revisions.find(({ revision_id }) => revision_id === revision.superseded_by_revision_id);
  const isWrong = revision.superseded_by_revision_id !== null;
  const uncertainty = uncertaintyText(revision.value);
  return (
    <button
      type="button"
      className={`rev-card ${isWrong ? "wrong" : ""}`}
      aria-current={isShown ? "true" : undefined}
      onClick={() => go("CalibrationRevision", revision.revision_id)}
    >
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
