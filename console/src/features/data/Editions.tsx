import { useState } from "react";
import { OperationButton } from "../../actions";
import { namesIn, useRead, type Answer, type CommandName } from "../../api";
import { plural, stateText } from "../../text";
import { useAsOf } from "../../time";
import { Callout, CopyButton, Icon, Loaded, ObjectName, StateMark, Timestamp, type Column } from "../../ui";
import { Listed } from "./Listed";

type Row = Answer<"list_editions">["items"][number];
type Edition = Answer<"get_edition">;

/** Show every edition, and the contents of one. */
export function Editions({ selected }: { selected: string | undefined }) {
  const list = useRead("list_editions", { limit: 100, order: "newest" });
  const columns: Column<Row>[] = [
    { key: "title", title: "Edition", cell: (row) => <b className="b">{row.title}</b>, sort: (row) => row.title },
    { key: "status", title: "Status", cell: (row) => <StateMark state={row.status} schema="EditionStatus" />, sort: (row) => row.status },
    { key: "datasets", title: "Datasets", align: "right", cell: (row) => row.dataset_ids.length, sort: (row) => row.dataset_ids.length },
    { key: "kind", title: "Kind", cell: (row) => <span className="dim">{KINDS[row.kind]}</span> },
    {
      key: "doi",
      title: "DOI",
      cell: (row) => (row.external_id ? <code>{row.external_id}</code> : <span className="faint">{row.pending_external_id ? "requested" : "none"}</span>),
    },
    { key: "created", title: "Registered", cell: (row) => <Timestamp at={row.created_at} />, sort: (row) => row.created_at },
  ];
  return (
    <Listed
      title="Editions"
      read={list}
      operation="list_editions"
      create="register_edition"
      kind="Edition"
      columns={columns}
      idOf={(row) => row.edition_id}
      selected={selected}
      none="No edition is registered. An edition is a set of datasets that is sealed and published together."
      more="The newest 100 editions are shown. Others are found by the palette."
    >
      {(id) => <One key={id} editionId={id} />}
    </Listed>
  );
}

const KINDS = { ROCrate: "RO-Crate", DataCite: "DataCite" } as const;

function One({ editionId }: { editionId: string }) {
  const edition = useRead("get_edition", { edition_id: editionId });
  return (
    <section className="panel side" aria-label="Edition">
      <Loaded read={edition} what="the edition" operation="get_edition">
        {(data) => (
          <div className="scroll">
            <Shown edition={data} etag={edition.etag} />
          </div>
        )}
      </Loaded>
    </section>
  );
}

const COMMANDS: readonly { operation: CommandName; text: string; isTerminal?: true }[] = [
  { operation: "seal_edition", text: "Seal" },
  { operation: "publish_edition", text: "Publish" },
  { operation: "mint_edition_external_id", text: "Mint a DOI", isTerminal: true },
  { operation: "add_edition_dataset", text: "Add a dataset" },
  { operation: "withdraw_edition", text: "Withdraw" },
];

function Shown({ edition, etag }: { edition: Edition; etag: string | undefined }) {
  const names = namesIn(edition);
  const { asOf } = useAsOf();
  const person = (id: string) => names[id]?.name ?? "person (no access)";
  return (
    <>
      <header className="side-head">
        <h2 className="cut">{edition.title}</h2>
        <CopyButton text={edition.edition_id} label={`Copy the id of ${edition.title}`} />
        <span className="end">
          <StateMark state={edition.status} schema="EditionStatus" />
        </span>
      </header>
      <div className="sec">
        <dl className="kv">
          {edition.description && (
            <>
              <dt>Description</dt>
              <dd>{edition.description}</dd>
            </>
          )}
          <dt>Creators</dt>
          <dd>{edition.creator_ids.map(person).join(", ") || <span className="faint">none</span>}</dd>
          {edition.contributors.length > 0 && (
            <>
              <dt>Contributors</dt>
              <dd>{edition.contributors.map(({ actor_id, role }) => `${person(actor_id)} (${stateText(role).toLowerCase()})`).join(", ")}</dd>
            </>
          )}
          <dt>License</dt>
          <dd>{edition.license ?? <span className="faint">none</span>}</dd>
          <dt>Published by</dt>
          <dd>
            {edition.publisher_facility_code ?? <span className="faint">not set</span>}
            {edition.publication_year !== null && `, ${edition.publication_year}`}
          </dd>
          <dt>DOI</dt>
          <dd>
            {edition.external_id ? <code>{edition.external_id}</code> : <span className="faint">none</span>}
            {edition.external_id_state && (
              <>
                {" "}
                <StateMark state={edition.external_id_state} schema="ExternalIdState" />
              </>
            )}
          </dd>
          {edition.sealed_at && (
            <>
              <dt>Sealed</dt>
              <dd>
                <Timestamp at={edition.sealed_at} />
              </dd>
            </>
          )}
          {edition.published_at && (
            <>
              <dt>Published</dt>
              <dd>
                <Timestamp at={edition.published_at} />
              </dd>
            </>
          )}
        </dl>
        {edition.withdrawn_reason && <p className="sm dim">Withdrawn: {edition.withdrawn_reason}</p>}
        {!asOf && (
          <div className="row wrap side-actions">
            {COMMANDS.map(({ operation, text, isTerminal }) => (
              <OperationButton
                key={operation}
                operation={operation}
                about={{ edition_id: edition.edition_id }}
                name={edition.title}
                etag={etag}
                states={{ status: edition.status }}
                size="small"
                hideReason
                {...(isTerminal && { isTerminal })}
              >
                {text}
              </OperationButton>
            ))}
          </div>
        )}
      </div>
      {(edition.retracted_dataset_ids.length > 0 || edition.uncovered_dataset_ids.length > 0) && (
        <div className="sec">
          {edition.retracted_dataset_ids.length > 0 && <Callout mark="blocks" title={`${plural(edition.retracted_dataset_ids.length, "dataset")} retracted`} />}
          {edition.uncovered_dataset_ids.length > 0 && <Callout mark="caution" title={`${plural(edition.uncovered_dataset_ids.length, "dataset")} with too few copies`} />}
        </div>
      )}
      <div className="sec">
        <h3>{plural(edition.dataset_ids.length, "dataset")}</h3>
        <ul className="copy-checks plain">
          {edition.dataset_ids.map((id) => {
            const isRetracted = edition.retracted_dataset_ids.includes(id);
            return (
              <li key={id}>
                <Icon name={isRetracted ? "blocks" : "data"} className={isRetracted ? "alarm" : ""} />
                <span>
                  <ObjectName id={id} names={names} kind="Dataset" plain />
                  {isRetracted && <span className="alarm sm"> retracted</span>}
                  {edition.uncovered_dataset_ids.includes(id) && <span className="warn sm"> too few copies</span>}
                </span>
              </li>
            );
          })}
        </ul>
      </div>
      {edition.content_hash && <Manifest editionId={edition.edition_id} hash={edition.content_hash} />}
    </>
  );
}

/** Show the sealed manifest as the service keeps it. */
function Manifest({ editionId, hash }: { editionId: string; hash: string }) {
  const [isOpen, setOpen] = useState(false);
  const manifest = useRead("get_edition_manifest", { edition_id: editionId }, { when: isOpen });
  const { names: _names, names_more: _more, ...own } = (manifest.data ?? {}) as Record<string, unknown>;
  return (
    <div className="sec">
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary className="sm b">Manifest</summary>
        <p className="sm dim">
          Content hash <code title={hash}>{`${hash.slice(0, 10)}…`}</code> <CopyButton text={hash} label="Copy the content hash" />
        </p>
        {isOpen && (
          <Loaded read={manifest} what="the manifest" operation="get_edition_manifest">
            {() => (
              <pre className="manifest" tabIndex={0} aria-label="Manifest">
                {JSON.stringify(own, null, 2)}
              </pre>
            )}
          </Loaded>
        )}
      </details>
    </div>
  );
}
