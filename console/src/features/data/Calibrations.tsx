import { OperationButton } from "../../actions";
import { namesIn, useRead, type Answer } from "../../api";
import { fieldLabel, stateText } from "../../text";
import { useAsOf } from "../../time";
import { Icon, Loaded, ObjectName, StateMark, Timestamp, type Column } from "../../ui";
import { Listed } from "./Listed";
import { useGo } from "./places";
import { calibrationText, pointText, sourceOf, uncertaintyText, valueText } from "./values";

type Row = Answer<"list_calibrations">["items"][number];
type Calibration = Answer<"get_calibration">;

/** Show every calibration with its current value, and the revisions of one. */
export function Calibrations({ selected }: { selected: string | undefined }) {
  const list = useRead("list_calibrations", { limit: 100, order: "newest" });
  const names = namesIn(list.data);
  const columns: Column<Row>[] = [
    { key: "asset", title: "Asset", cell: (row) => <b className="b">{names[row.asset_id]?.name ?? "asset (no access)"}</b>, sort: (row) => names[row.asset_id]?.name },
    { key: "quantity", title: "Quantity", cell: (row) => fieldLabel(row.quantity), sort: (row) => row.quantity },
    { key: "point", title: "Valid at", cell: (row) => <span className="dim">{pointText(row.operating_point)}</span> },
    {
      key: "value",
      title: "Current value",
      align: "right",
      cell: (row) => {
        const current = row.revisions.find(({ revision_id }) => revision_id === row.current_revision_id);
        return current ? valueText(row.quantity, current.value) : <span className="faint">none</span>;
      },
    },
    {
      key: "status",
      title: "Status",
      cell: (row) => (row.current_status ? <StateMark state={row.current_status} schema="RevisionStatus" /> : null),
      sort: (row) => row.current_status,
    },
    { key: "revisions", title: "Revisions", align: "right", cell: (row) => row.revision_count, sort: (row) => row.revision_count },
    { key: "revised", title: "Revised", cell: (row) => (row.last_revised_at ? <Timestamp at={row.last_revised_at} /> : null), sort: (row) => row.last_revised_at },
  ];
  return (
    <Listed
      title="Calibrations"
      read={list}
      operation="list_calibrations"
      create="define_calibration"
      kind="Calibration"
      columns={columns}
      idOf={(row) => row.calibration_id}
      selected={selected}
      none="No calibration is defined."
      more="The newest 100 calibrations are shown. Others are found by their asset or by the palette."
    >
      {(id) => <Revisions key={id} calibrationId={id} />}
    </Listed>
  );
}

function Revisions({ calibrationId }: { calibrationId: string }) {
  const calibration = useRead("get_calibration", { calibration_id: calibrationId });
  return (
    <section className="panel side" aria-label="Calibration">
      <Loaded read={calibration} what="the calibration" operation="get_calibration">
        {(data) => <Shown calibration={data} etag={calibration.etag} />}
      </Loaded>
    </section>
  );
}

function Shown({ calibration, etag }: { calibration: Calibration; etag: string | undefined }) {
  const names = namesIn(calibration);
  const { asOf } = useAsOf();
  const go = useGo();
  const revisions = calibration.revisions.map((revision, at) => ({ revision, number: at + 1 })).reverse();
  return (
    <>
      <header className="side-head">
        <h2 className="cut">{calibrationText(calibration.quantity, calibration.operating_point)}</h2>
      </header>
      <div className="sec">
        <dl className="kv">
          <dt>Asset</dt>
          <dd>
            <ObjectName id={calibration.asset_id} names={names} kind="Asset" />
          </dd>
          {calibration.description && (
            <>
              <dt>Description</dt>
              <dd>{calibration.description}</dd>
            </>
          )}
        </dl>
        {!asOf && (
          <div className="row wrap side-actions">
            <OperationButton
              operation="append_calibration_revision"
              about={{ calibration_id: calibration.calibration_id, ...(calibration.current_revision_id && { supersedes_revision_id: calibration.current_revision_id }) }}
              etag={etag}
              size="small"
            >
              Append a revision
            </OperationButton>
            <OperationButton operation="update_calibration_description" about={{ calibration_id: calibration.calibration_id }} etag={etag} size="small" hideReason>
              Update the description
            </OperationButton>
          </div>
        )}
      </div>
      <div className="scroll grow">
        {revisions.length === 0 && <p className="pad dim">No revision{asOf ? " until then" : ""}.</p>}
        {revisions.map(({ revision, number }) => {
          const source = sourceOf(revision.source);
          const isCurrent = revision.revision_id === calibration.current_revision_id;
          return (
            <div key={revision.revision_id} className="cp">
              <div className="row">
                <b className="b">Revision {number}</b>
                {isCurrent ? <span className="chip">current</span> : revision.superseded_by_revision_id && <span className="dim sm">superseded</span>}
                <span className="end">
                  <StateMark state={revision.status} schema="RevisionStatus" />
                </span>
              </div>
              <div>
                <b className={isCurrent ? "rev-value" : "rev-value dim"}>{valueText(calibration.quantity, revision.value)}</b>{" "}
                <span className="dim sm">{uncertaintyText(revision.value)}</span>
              </div>
              <div className="row wrap sm dim">
                <span>
                  {stateText(source.word)} by <ObjectName id={source.id} names={names} kind={source.kind} plain />, <Timestamp at={revision.established_at} />
                </span>
                <span className="end">
                  <button type="button" className="btn s" onClick={() => go("CalibrationRevision", revision.revision_id)}>
                    <Icon name="link" />
                    Uses
                  </button>
                </span>
              </div>
            </div>
          );
        })}
      </div>
    </>
  );
}
