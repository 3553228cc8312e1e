import { useMemo, useRef, useState } from "react";
import { namesIn, useRead, type Names, type Words } from "../../api";
import { bytes, markOf, plural, stateText, TONES, type Mark } from "../../text";
import { useAsOf } from "../../time";
import { EmptyState, Icon, Loaded, Panel, StateMark } from "../../ui";
import { useKeys, useSearchParam } from "../../view";
import { DatasetPanel } from "./DatasetPanel";
import { storageOf, type Copy, type CustodyRow } from "./copies";
import { useGo } from "./places";

const PAGE = 100;
const VERDICTS: readonly Words["CustodyVerdict"][] = ["Lost", "Below", "Met", "Spare"];
const INTENTS: readonly Words["DatasetIntent"][] = ["Trial", "Production", "Retracted"];

/** What each verdict of the service means. */
const MEANINGS: Record<Words["CustodyVerdict"], string> = {
  Lost: "without a copy",
  Below: "too few copies",
  Met: "enough copies",
  Spare: "a copy can be discarded",
};

/** Say how many datasets and copies need attention. */
export function CustodyChips() {
  const { data } = useRead("get_custody_summary", {});
  if (!data) return null;
  const datasets = (verdict: string) => data.datasets.filter((total) => total.verdict === verdict).reduce((sum, total) => sum + total.datasets, 0);
  const stale = data.copies.filter(({ status }) => status === "Stale").reduce((sum, { copies }) => sum + copies, 0);
  return (
    <>
      {datasets("Lost") > 0 && <StateMark as="chip" mark="blocks">{`${datasets("Lost")} without a copy`}</StateMark>}
      {stale > 0 && (
        <StateMark as="chip" mark="caution">
          {plural(stale, "stale copy", "stale copies")}
        </StateMark>
      )}
      {datasets("Below") > 0 && <StateMark as="chip" mark="caution">{`${datasets("Below")} with too few copies`}</StateMark>}
      <StateMark as="chip" mark="normal">{`${bytes(data.discardable_bytes)} discardable`}</StateMark>
    </>
  );
}

/** Show every dataset with its copies, one column for each storage. */
export function Custody({ selected }: { selected: string | undefined }) {
  const [verdict, setVerdict] = useSearchParam("verdict");
  const [intent, setIntent] = useSearchParam("intent");
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [filter, setFilter] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => field.current?.focus() });
  const cursor = cursors.at(-1);
  const rows = useRead(
    "list_custody",
    {
      limit: PAGE,
      ...(VERDICTS.some((each) => each === verdict) && { verdict: verdict as Words["CustodyVerdict"] }),
      ...(INTENTS.some((each) => each === intent) && { intent: intent as Words["DatasetIntent"] }),
      ...(cursor !== undefined && { cursor }),
    },
    { keep: true },
  );
  const choose = (set: (value: string | undefined) => void) => (value: string) => {
    setCursors([]);
    set(value || undefined);
  };
  return (
    <div className="data-body">
      <Panel
        title={rows.data ? `${plural(rows.data.items.length, "dataset")}${rows.data.next_cursor || cursor ? " on this page" : ""}` : "Datasets"}
        flush
        className="custody"
        note={<Legend />}
        end={
          <>
            <Choice label="Copies" value={verdict ?? ""} choose={choose(setVerdict)} options={VERDICTS.map((each) => [each, `${stateText(each)}: ${MEANINGS[each]}`])} />
            <Choice label="Trust" value={intent ?? ""} choose={choose(setIntent)} options={INTENTS.map((each) => [each, stateText(each)])} />
            <label className="row">
              <span className="hidden">Filter by name</span>
              <input ref={field} className="in find" placeholder="Filter" value={filter} onChange={(event) => setFilter(event.target.value)} />
              <kbd>/</kbd>
            </label>
          </>
        }
        footer={
          rows.data && (rows.data.next_cursor || cursor) ? (
            <>
              <button type="button" className="btn s" disabled={!cursor} onClick={() => setCursors(cursors.slice(0, -1))}>
                Previous page
              </button>
              <button type="button" className="btn s" disabled={!rows.data.next_cursor} onClick={() => setCursors([...cursors, rows.data?.next_cursor ?? ""])}>
                Next page
              </button>
            </>
          ) : undefined
        }
      >
        <Loaded read={rows} what="datasets" operation="list_custody">
          {(data) => <Table rows={data.items} names={namesIn(data)} selected={selected} filter={filter} />}
        </Loaded>
      </Panel>
      <DatasetPanel key={selected ?? rows.data?.items[0]?.dataset_id} datasetId={selected ?? rows.data?.items[0]?.dataset_id} />
    </div>
  );
}

function Legend() {
  const { asOf } = useAsOf();
  if (asOf) return null;
  return (
    <span className="legend">
      {(["Verified", "Registered", "Stale", "Discarded"] as const).map((status) => (
        <span key={status} className="row">
          <Icon name={markOf(status, "DistributionStatus")} className={TONES[markOf(status, "DistributionStatus")]} />
          {status === "Registered" ? "not verified" : status.toLowerCase()}
        </span>
      ))}
    </span>
  );
}

function Choice({ label, value, choose, options }: { label: string; value: string; choose: (value: string) => void; options: readonly (readonly [string, string])[] }) {
  return (
    <label className="row">
      <span className="hidden">{label}</span>
      <select className="in pick" value={value} onChange={(event) => choose(event.target.value)}>
        <option value="">{label}: all</option>
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Return the storages that hold a copy of one of the datasets. */
function storagesOf(rows: readonly CustodyRow[]): { id: string; name: string }[] {
  const found = new Map<string, string>();
  for (const { copies } of rows) for (const { supply_id, supply_name } of copies) found.set(supply_id ?? "", supply_id ? (supply_name ?? "storage (no access)") : "Elsewhere");
  return [...found].map(([id, name]) => ({ id, name })).sort((a, b) => (a.id === "" ? 1 : b.id === "" ? -1 : a.name.localeCompare(b.name)));
}

/** Return the name of the storage of a copy, for people. */
function Table({ rows, names, selected, filter }: { rows: readonly CustodyRow[]; names: Names; selected: string | undefined; filter: string }) {
  const go = useGo();
  const body = useRef<HTMLTableSectionElement>(null);
  const storages = useMemo(() => storagesOf(rows), [rows]);
  const text = filter.trim().toLowerCase();
  const shown = text ? rows.filter(({ name }) => name.toLowerCase().includes(text)) : rows;
  const chosen = selected ?? rows[0]?.dataset_id;
  if (shown.length === 0)
    return (
      <div className="pad">
        <EmptyState>{rows.length === 0 ? "No dataset is registered here." : "No dataset on this page has this name."}</EmptyState>
      </div>
    );
  const move = (from: HTMLElement, step: number) => {
    const all = [...(body.current?.querySelectorAll<HTMLElement>("tr") ?? [])];
    all[all.indexOf(from) + step]?.focus();
  };
  return (
    <table className="ds" aria-label="Datasets and their copies">
      <thead>
        <tr>
          <th scope="col">Dataset</th>
          <th scope="col">From</th>
          <th scope="col" className="r">
            Size
          </th>
          {storages.map(({ id, name }) => (
            <th key={id} scope="col" className="c">
              {name}
            </th>
          ))}
          <th scope="col" className="c">
            Verified
          </th>
          <th scope="col">Discardable</th>
        </tr>
      </thead>
      <tbody ref={body}>
        {shown.map((row) => (
          <tr
            key={row.dataset_id}
            className={`can ${row.dataset_id === chosen ? "on" : ""}`}
            tabIndex={row.dataset_id === chosen || (row === shown[0] && !shown.some(({ dataset_id }) => dataset_id === chosen)) ? 0 : -1}
            aria-current={row.dataset_id === chosen ? "true" : undefined}
            onClick={() => go("Dataset", row.dataset_id, "custody")}
            onKeyDown={(event) => {
              const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
              if (step) {
                event.preventDefault();
                move(event.currentTarget, step);
              } else if (event.key === "Enter") go("Dataset", row.dataset_id, "custody");
            }}
          >
            <td>
              <b className="b">{row.name}</b>
              {row.intent === "Retracted" && <span className="dim sm"> · Retracted</span>}
            </td>
            <td className="dim">{row.producing_run_id ? (names[row.producing_run_id]?.name ?? "run (no access)") : "no run"}</td>
            <td className="r dim nowrap">{bytes(row.byte_size)}</td>
            {storages.map(({ id }) => (
              <td key={id} className="c">
                <Copies copies={row.copies.filter(({ supply_id }) => (supply_id ?? "") === id)} />
              </td>
            ))}
            <td className={`c ${TONES[markOf(row.verdict, "CustodyVerdict")]} ${row.verdict === "Lost" || row.verdict === "Below" ? "b" : ""}`}>
              {row.verified_count}
              {(row.verdict === "Lost" || row.verdict === "Below") && <span className="hidden"> {MEANINGS[row.verdict]}</span>}
            </td>
            <td>
              <Discardable row={row} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The copies of one dataset at one storage: the first shape that needs attention stands for all. */
function Copies({ copies }: { copies: readonly Copy[] }) {
  const order: readonly Mark[] = ["blocks", "caution", "unknown", "normal", "pending", "denied"];
  const [worst] = [...copies].sort((a, b) => order.indexOf(markOf(a.status, "DistributionStatus")) - order.indexOf(markOf(b.status, "DistributionStatus")));
  if (!worst) return <Icon name="none" className="nothing" />;
  const mark = markOf(worst.status, "DistributionStatus");
  return (
    <span title={copies.map(({ status, uri }) => `${stateText(status)} ${uri}`).join("\n")}>
      <Icon name={mark} className={TONES[mark]} />
      <span className="hidden">{stateText(worst.status)}</span>
      {copies.length > 1 && <span className="xs dim"> {copies.length}</span>}
    </span>
  );
}

function Discardable({ row }: { row: CustodyRow }) {
  const copies = row.copies.filter(({ distribution_id }) => row.discardable_distribution_ids.includes(distribution_id));
  if (copies.length > 0) return <span className="dim">{copies.map((copy) => `${storageOf(copy)} copy`).join(", ")}</span>;
  return (
    <span className="dim">
      no
      {row.verdict !== "Spare" && `, ${MEANINGS[row.verdict]}`}
    </span>
  );
}
