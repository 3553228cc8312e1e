import { useEffect } from "react";
import { OperationButton, Remedies } from "../../actions";
import { namesIn, routes, useAction, useRead, type Answer, type CommandName } from "../../api";
import { useMay } from "../../auth";
import { bytes, fieldLabel, markOf, plural, stateText, TONES } from "../../text";
import { useAsOf, useNow, useZone } from "../../time";
import { CopyButton, EmptyState, Icon, Loaded, ObjectName, Refusal, StateMark, Timestamp } from "../../ui";
import { storageOf, type Copy, type CustodyRow } from "./copies";
import { useGo } from "./places";

type Dataset = Answer<"get_dataset">;

/** Show one dataset: what it is, its copies with what can be done, and its checks. */
export function DatasetPanel({ datasetId }: { datasetId: string | undefined }) {
  const dataset = useRead("get_dataset", { dataset_id: datasetId ?? "" }, { when: datasetId !== undefined });
  if (!datasetId)
    return (
      <section className="panel side" aria-label="Dataset">
        <div className="pad">
          <EmptyState action={<OperationButton operation="register_dataset" />}>No dataset is selected.</EmptyState>
        </div>
      </section>
    );
  return (
    <section className="panel side" aria-label="Dataset">
      <Loaded read={dataset} what="the dataset" operation="get_dataset">
        {(data) => (
          <div className="scroll">
            <Head dataset={data} etag={dataset.etag} />
            <Copies dataset={data} />
            <Attestations datasetId={data.dataset_id} />
          </div>
        )}
      </Loaded>
    </section>
  );
}

function Head({ dataset, etag }: { dataset: Dataset; etag: string | undefined }) {
  const go = useGo();
  const { asOf } = useAsOf();
  const names = namesIn(dataset);
  const states = { status: dataset.status, intent: dataset.intent };
  const form = { about: { dataset_id: dataset.dataset_id }, name: dataset.name, etag, states, size: "small" as const, hideReason: true };
  return (
    <>
      <header className="side-head">
        <h2 className="cut">{dataset.name}</h2>
        <CopyButton text={dataset.dataset_id} label={`Copy the id of ${dataset.name}`} />
        <span className="end">
          <button type="button" className="btn s" onClick={() => go("Dataset", dataset.dataset_id, "lineage")}>
            Lineage
          </button>
        </span>
      </header>
      <div className="sec">
        <dl className="kv">
          <dt>From</dt>
          <dd>
            {dataset.producing_run_id ? <ObjectName id={dataset.producing_run_id} names={names} kind="Run" plain /> : "no run"}
            {dataset.subject_id && <span className="dim"> · {names[dataset.subject_id]?.name ?? "subject (no access)"}</span>}
          </dd>
          <dt>Trust</dt>
          <dd>
            <StateMark state={dataset.intent} schema="DatasetIntent" />
            {dataset.status !== "Registered" && <span className="dim"> · {stateText(dataset.status)}</span>}
          </dd>
          <dt>Size</dt>
          <dd>
            {bytes(dataset.byte_size)}
            {dataset.file_count !== null && ` in ${plural(dataset.file_count, "file")}`}
            <span className="dim"> · {dataset.encoding.media_type}</span>
          </dd>
          <dt>Checksum</dt>
          <dd>
            <code title={dataset.checksum.value}>
              {dataset.checksum.algorithm} {shortSum(dataset.checksum.value)}
            </code>
            <CopyButton text={dataset.checksum.value} label="Copy the checksum" />
          </dd>
          {dataset.external_id && (
            <>
              <dt>DOI</dt>
              <dd>
                <code>{dataset.external_id}</code>
              </dd>
            </>
          )}
          {dataset.retain_until && (
            <>
              <dt>Keep until</dt>
              <dd>{dataset.retain_until}</dd>
            </>
          )}
        </dl>
        {!asOf && (
          <div className="row wrap side-actions">
            <OperationButton operation="promote_dataset" {...form} />
            <OperationButton operation="demote_dataset" {...form} />
            <OperationButton operation="archive_dataset" {...form} />
            <OperationButton operation="discard_dataset" {...form} />
          </div>
        )}
      </div>
    </>
  );
}

/** `9f2c…41ab` */
const shortSum = (value: string) => `${value.slice(0, 4)}…${value.slice(-4)}`;

/** Show the copies of a dataset; the present ones, because custody is judged now. */
function Copies({ dataset }: { dataset: Dataset }) {
  const custody = useRead("list_custody", { dataset_id: dataset.dataset_id, limit: 1 });
  const { asOf } = useAsOf();
  return (
    <Loaded read={custody} what="the copies" operation="list_custody">
      {({ items: [row] }) => (
        <>
          {asOf && (
            <div className="sec">
              <span className="chip">copies: current</span>
            </div>
          )}
          {row?.copies.map((copy) => (
            <CopyRow key={copy.distribution_id} copy={copy} row={row} />
          ))}
          <div className="sec">
            <div className="row wrap">
              {row && (
                <StateMark state={row.verdict} schema="CustodyVerdict">
                  {row.verified_count} verified
                </StateMark>
              )}
              {row && Object.entries(row.short).map(([rule, missing]) => <span key={rule} className="sm warn">{`${missing} missing: ${fieldLabel(rule).toLowerCase()}`}</span>)}
              {row?.kept_by && <span className="sm dim">kept by {row.kept_by.toLowerCase()}</span>}
              {!asOf && (
                <span className="end">
                  <OperationButton
                    operation="register_distribution"
                    about={{ dataset_id: dataset.dataset_id }}
                    initial={{ checksum: dataset.checksum, byte_size: dataset.byte_size }}
                    size="small"
                    hideReason
                  >
                    Register a copy
                  </OperationButton>
                </span>
              )}
            </div>
          </div>
        </>
      )}
    </Loaded>
  );
}

/** Return whether a command can be made in a status, by the moves of the catalogue. */
const isFrom = (operation: CommandName, status: string) => routes[operation].moves?.some(({ from }) => from.includes(status)) ?? true;

function CopyRow({ copy, row }: { copy: Copy; row: CustodyRow }) {
  const zone = useZone();
  const now = useNow(60_000);
  const { asOf } = useAsOf();
  const isDiscardable = row.discardable_distribution_ids.includes(copy.distribution_id);
  const isStored = isFrom("discard_distribution", copy.status);
  const form = { about: { distribution_id: copy.distribution_id }, name: `the ${storageOf(copy)} copy`, states: { status: copy.status }, size: "small" as const };
  return (
    <div className="cp">
      <div className="row">
        <b className="b">{storageOf(copy)}</b>
        <span className="end">
          <StateMark state={copy.status} schema="DistributionStatus">
            {copy.verified_at && copy.status === "Verified" ? zone.stamp(copy.verified_at, now) : undefined}
          </StateMark>
        </span>
      </div>
      <code className="uri">{copy.uri}</code>
      <div className="row wrap">
        <span className="dim sm">{!isStored ? "not kept" : isDiscardable ? "can be discarded" : copy.counts ? "counts for custody" : "does not count for custody"}</span>
        {!asOf && (
          <span className="end row">
            {!isStored ? (
              isFrom("record_distribution_removal", copy.status) && (
                <OperationButton operation="record_distribution_removal" {...form} hideReason>
                  Record removal
                </OperationButton>
              )
            ) : (
              <>
                <OperationButton operation="request_distribution_check" {...form} initial={{ kind: "ChecksumVerified" }} hideReason>
                  {copy.status === "Registered" ? "Verify" : "Verify again"}
                </OperationButton>
                <OperationButton operation="record_attestation" {...form} initial={{ kind: "ChecksumVerified" }} hideReason>
                  Attest
                </OperationButton>
                <OperationButton operation="discard_distribution" {...form} isTerminal hideReason>
                  Discard
                </OperationButton>
              </>
            )}
          </span>
        )}
      </div>
      {!asOf && !isDiscardable && isStored && copy.counts && <WhyNot copy={copy} />}
    </div>
  );
}

/** Say before the attempt why a copy cannot be discarded, by a dry run of the command. */
function WhyNot({ copy }: { copy: Copy }) {
  const { state, dryRun } = useAction("discard_distribution");
  const may = useMay();
  const isPermitted = may("discard_distribution").isEnabled;
  useEffect(() => {
    if (isPermitted) void dryRun({ distribution_id: copy.distribution_id, reason: "Dry run" });
  }, [copy.distribution_id, copy.status, dryRun, isPermitted]);
  if (state.phase !== "refused" || state.problem.status !== 409) return null;
  return (
    <Refusal
      problem={state.problem}
      at={state.at}
      isDryRun
      remedies={(operations, fact) => <Remedies operations={operations} fact={fact} values={{ distribution_id: copy.distribution_id }} />}
    />
  );
}

function Attestations({ datasetId }: { datasetId: string }) {
  const attestations = useRead("list_attestations", { dataset_id: datasetId, order: "newest", limit: 20 });
  // The same read as that of the copies; a copy is named by its storage, because its own name is a file name.
  const custody = useRead("list_custody", { dataset_id: datasetId, limit: 1 });
  const { asOf } = useAsOf();
  const placeOf = (id: string) => custody.data?.items[0]?.copies.find(({ distribution_id }) => distribution_id === id);
  return (
    <div className="sec">
      <h3>Checks of the copies</h3>
      <Loaded read={attestations} what="the checks" operation="list_attestations">
        {(data) => {
          const shown = data.items.filter(({ checked_at }) => !asOf || Date.parse(checked_at) <= Date.parse(asOf));
          if (shown.length === 0) return <p className="dim sm">No copy was checked{asOf ? " until then" : ""}.</p>;
          return (
            <ul className="copy-checks">
              {shown.map(({ attestation_id, checked_at, outcome, kind, verified_by, distribution_id, evidence }, at) => {
                const mark = markOf(outcome, "AttestationOutcome");
                const copy = placeOf(distribution_id);
                // A later check of the same copy clears this one.
                const isCleared = shown.slice(0, at).some((later) => later.distribution_id === distribution_id);
                return (
                  <li key={attestation_id}>
                    <Timestamp at={checked_at} />
                    <Icon name={mark} className={isCleared ? "" : TONES[mark]} />
                    <div>
                      {copy ? storageOf(copy) : "A copy that is gone"}: {KINDS[kind]}, {stateText(outcome).toLowerCase()}
                      <div className="dim sm">
                        by {WHO[verified_by]}
                        {foundText(evidence)}
                      </div>
                    </div>
                  </li>
                );
              })}
            </ul>
          );
        }}
      </Loaded>
    </div>
  );
}

const KINDS = { ChecksumVerified: "checksum", TransferVerified: "transfer", FormatValidated: "format" } as const;
const WHO = { Service: "the service", Client: "a client", Transfer: "the transfer service" } as const;

/** «, expected 9f2c…41ab, found 03d7…c9e0», when the evidence has them. */
function foundText(evidence: Record<string, unknown>): string {
  return (["expected", "found"] as const)
    .map((word) => {
      const value = evidence[word];
      return typeof value === "string" ? `, ${word} ${value.length > 16 ? shortSum(value) : value}` : "";
    })
    .join("");
}
