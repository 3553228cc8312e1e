/** One run completely: what happened, what was measured, with what, and what came of it. */
import { useMemo } from "react";
import { namesIn, routes, useAllPages, useRead, useReads, type Answer, type CommandName, type Names, type RecordedEvent } from "../../api";
import { OperationButton, OperationMenu } from "../../actions";
import { markOf } from "../../text";
import { counter, length, useAsOf, useNow } from "../../time";
import { Callout, EmptyState, EventLine, Icon, Loaded, ObjectName, StateMark, Tabs, Timestamp, type Span } from "../../ui";
import { useBeamline } from "../../view";
import { Inputs, ParameterChanges } from "./Inputs";
import { happened, heldFor, spansOf } from "./spans";
import { Timeline } from "./Timeline";

type Run = Answer<"get_run">;
const SILENT_MS = 10 * 60_000;
/** The commands that have a button of their own while the run is in a state that they lead out of. */
const NEXT: readonly CommandName[] = ["hold_run", "resume_run"];
const COMMANDS: readonly CommandName[] = ["hold_run", "resume_run", "complete_run", "adjust_run", "stop_run", "abort_run", "truncate_run"];

export function RunPage({ id }: { id: string }) {
  const run = useRead("get_run", { run_id: id });
  return (
    <div className="main runs">
      <Loaded read={run} what="the run" operation="get_run">
        {(shown) => <Shown run={shown} etag={run.etag} />}
      </Loaded>
    </div>
  );
}

function Shown({ run, etag }: { run: Run; etag: string | undefined }) {
  const { unitId } = useBeamline();
  const { asOf } = useAsOf();
  const now = useNow(run.ended_at ? 0 : 10_000);
  const history = useAllPages("get_run_history", { run_id: run.run_id });
  const [first] = useReads("get_run", [{ run_id: run.run_id, as_of: run.created_at }]);
  const method = useRead("get_method", { method_id: run.method_id, as_of: run.created_at }, { current: true });
  const tree = useRead("get_asset_tree", { asset_id: unitId ?? "", as_of: run.created_at }, { when: unitId !== undefined, current: true });
  const summary = useRead("get_run_observation_summary", { run_id: run.run_id });
  const events = useMemo(() => (history.data?.items ?? []).filter(({ occurred_at }) => !asOf || Date.parse(occurred_at) <= Date.parse(asOf)), [asOf, history.data]);
  // The clock moves every ten seconds; what has happened since is shown at once.
  const newest = Math.max(now, ...events.slice(-1).map(({ occurred_at }) => Date.parse(occurred_at)));
  const viewed = asOf ? Date.parse(asOf) : newest;
  const end = Math.min(run.ended_at ? Date.parse(run.ended_at) : viewed, viewed);
  const status = first?.data?.status;
  const spans = useMemo(
    () => spansOf({ at: Date.parse(run.created_at), state: status }, events.map(happened), { axis: "status", schema: "RunStatus", until: end }),
    [end, events, run.created_at, status],
  );
  const used = (tree.data?.nodes ?? []).filter((node) => run.asset_ids.includes(node.id));
  const enclosures = [...new Set(used.flatMap((node) => node.located_in_enclosure_id ?? []))];
  const last = Math.max(...(summary.data?.channels ?? []).map(({ last_at }) => Date.parse(last_at)));
  const lastAt = Number.isFinite(last) ? last : undefined;
  return (
    <>
      <Head run={run} etag={etag} spans={spans} events={events} names={{ ...namesIn(history.data), ...namesIn(run) }} method={method.data} lastAt={lastAt} />
      <div className="run-cols">
        <div className="stack">
          <Timeline
            run={run}
            spans={spans}
            end={end}
            supplyKinds={method.data?.needed_supplies ?? NONE}
            enclosureIds={enclosures}
            lead={<Silence run={run} etag={etag} lastAt={lastAt} />}
          />
          <Records run={run} etag={etag} events={events} names={namesIn(history.data)} isCut={history.data?.next_cursor != null} />
        </div>
        <Inputs run={run} method={method.data} used={used} />
      </div>
    </>
  );
}

const NONE: readonly string[] = [];

interface HeadProps {
  run: Run;
  etag: string | undefined;
  spans: readonly Span[];
  events: readonly RecordedEvent[];
  names: Names;
  method: Answer<"get_method"> | undefined;
  lastAt: number | undefined;
}

function Head({ run, etag, spans, events, names, method, lastAt }: HeadProps) {
  const now = useNow(1000);
  const { asOf } = useAsOf();
  const viewed = asOf ? Date.parse(asOf) : now;
  const until = Math.min(run.ended_at ? Date.parse(run.ended_at) : viewed, viewed);
  const held = heldFor(spans, until);
  const [first, last] = [events[0], events.at(-1)];
  const form = { about: { run_id: run.run_id }, name: run.name, etag, states: { status: run.status } };
  return (
    <div className="object-head">
      <h1 className="screen-title">{run.name}</h1>
      <StateMark as="chip" state={run.status} schema="RunStatus">
        {run.ended_at ? <Timestamp at={run.ended_at} /> : undefined}
      </StateMark>
      <div className="dim grow">
        <div>
          <ObjectName id={run.subject_id} names={names} kind="Subject" plain /> · <ObjectName id={run.plan_id} names={names} kind="Plan" plain />
          {run.declaration_versions && `, version ${run.declaration_versions.plan}`}
          {run.campaign_id && (
            <>
              {" "}
              · campaign <ObjectName id={run.campaign_id} names={names} kind="Campaign" plain />
            </>
          )}
        </div>
        <div className="sm">
          Started <Timestamp at={run.created_at} /> {first && <>by {names[first.principal_id]?.name ?? "someone"}</>} · {run.ended_at ? "lasted" : "for"}{" "}
          {counter(until - Date.parse(run.created_at))}
          {held >= 1000 && `, held ${counter(held)}`}
          {run.ended_at && last && ` · ended by ${names[last.principal_id]?.name ?? "someone"}`}
          {run.last_status_reason && ` · ${run.last_status_reason}`}
        </div>
      </div>
      <span className="end row">
        {/* An outcome that is unknown stays on the screen when the run has gone on. */}
        {NEXT.map((operation) => (
          <OperationButton key={operation} operation={operation} isOffered={isNext(operation, run.status)} {...form} />
        ))}
        <OperationMenu
          label="Actions on the run"
          operations={COMMANDS}
          {...form}
          more={{
            adjust_run: { preview: (values) => <ParameterChanges run={run} method={method} patch={values.parameters_patch} /> },
            ...(lastAt !== undefined && { truncate_run: { initial: { interrupted_at: new Date(lastAt).toISOString() } } }),
          }}
        />
      </span>
    </div>
  );
}

/** Return whether an operation leads out of a state. */
function isNext(operation: CommandName, state: string): boolean {
  return (routes[operation].moves ?? []).some(({ from }) => from.includes(state));
}

/** Say that a run reports nothing any more, and offer to close it. */
function Silence({ run, etag, lastAt }: { run: Run; etag: string | undefined; lastAt: number | undefined }) {
  const now = useNow(10_000);
  const { asOf } = useAsOf();
  if (asOf || lastAt === undefined || markOf(run.status, "RunStatus") !== "progress" || now - lastAt < SILENT_MS) return null;
  return (
    <Callout
      mark="caution"
      title={`No observation for ${length(now - lastAt)}.`}
      end={
        <OperationButton
          operation="truncate_run"
          about={{ run_id: run.run_id }}
          initial={{ interrupted_at: new Date(lastAt).toISOString() }}
          name={run.name}
          etag={etag}
          states={{ status: run.status }}
          size="small"
        />
      }
    >
      The last one came at <Timestamp at={lastAt} />. If the run died unnoticed, truncate it at that time.
    </Callout>
  );
}

interface RecordsProps {
  run: Run;
  etag: string | undefined;
  events: readonly RecordedEvent[];
  names: Names;
  isCut: boolean;
}

function Records({ run, etag, events, names, isCut }: RecordsProps) {
  const { asOf } = useAsOf();
  const logbook = useAllPages("list_run_logbook_entries", { run_id: run.run_id });
  const procedures = useRead("list_procedures", { parent_run_id: run.run_id, limit: 100 });
  const entries = (logbook.data?.items ?? []).filter(({ recorded_at }) => !asOf || Date.parse(recorded_at) <= Date.parse(asOf));
  const left = [...(isCut ? ["events"] : []), ...(logbook.data?.next_cursor ? ["logbook entries"] : []), ...(procedures.data?.next_cursor ? ["procedures"] : [])];
  return (
    <Tabs
      label="Records of the run"
      note={left.length > 0 ? `Later ${left.join(" and ")} are left out` : undefined}
      end={
        <OperationButton operation="append_run_logbook_entry" about={{ run_id: run.run_id }} initial={{ kind: "Note" }} name={run.name} etag={etag} icon="note" size="small">
          Write a note
        </OperationButton>
      }
      tabs={[
        {
          title: "Logbook",
          count: entries.length,
          show: () => (
            <Loaded read={logbook} what="the logbook" operation="list_run_logbook_entries">
              {() => <Entries entries={entries} authors={namesIn(logbook.data)} />}
            </Loaded>
          ),
        },
        {
          title: "Events",
          count: events.length,
          show: () => (
            <ul className="lines">
              {[...events].reverse().map((event) => (
                <EventLine
                  key={event.event_id}
                  type={event.event_type}
                  at={event.occurred_at}
                  data={event.payload}
                  note={names[event.principal_id]?.name}
                  isCleared={markOf(run.status, "RunStatus") !== "held" || event !== events.at(-1)}
                />
              ))}
            </ul>
          ),
        },
        {
          title: asOf ? "Procedures (current)" : "Procedures",
          count: procedures.data?.items.length ?? 0,
          show: () => (
            <Loaded read={procedures} what="procedures" operation="list_procedures">
              {({ items }) =>
                items.length === 0 ? (
                  <EmptyState>No procedure belongs to this run.</EmptyState>
                ) : (
                  <ul>
                    {items.map((procedure) => (
                      <li key={procedure.procedure_id} className="item">
                        <Icon name="list" />
                        <ObjectName id={procedure.procedure_id} kind="Procedure" name={procedure.name} plain />
                        <StateMark state={procedure.status} schema="ProcedureStatus" />
                      </li>
                    ))}
                  </ul>
                )
              }
            </Loaded>
          ),
        },
      ]}
    />
  );
}

type Entry = Answer<"list_run_logbook_entries">["items"][number];

function Entries({ entries, authors }: { entries: readonly Entry[]; authors: Names }) {
  if (entries.length === 0) return <EmptyState>Nobody wrote about this run.</EmptyState>;
  return (
    <ul>
      {[...entries].reverse().map((entry) => {
        const author = authors[entry.author_id];
        return (
          <li key={entry.entry_id} className="entry">
            <span className="dim">
              <Timestamp at={entry.recorded_at} />
            </span>
            <Icon name={author?.kind === "Agent" ? "agent" : "person"} />
            <div>
              <div className="row wrap">
                <b className="b">{author?.name ?? "person (no access)"}</b>
                <span className="chip">{entry.kind}</span>
                {entry.decision_id && (
                  <span className="end row">
                    <OperationButton operation="rate_decision" about={{ decision_id: entry.decision_id }} size="small" look="quiet" />
                    <ObjectName id={entry.decision_id} kind="Decision" name="Decision" plain />
                  </span>
                )}
              </div>
              <p className="entry-text">{entry.text}</p>
            </div>
          </li>
        );
      })}
    </ul>
  );
}
