/** Procedures, cautions and recent events of a beamline. */
import { useRef, useState } from "react";
import { namesIn, useRead, useService, type Answer, type FeedEvent } from "../../api";
import { useEvents } from "../../feed";
import { useAsOf, useNow, useZone } from "../../time";
import { eventText, markOf, plural, reasonText, stateText, TONES } from "../../text";
import { Callout, EmptyState, EventLine, Icon, Loaded, ObjectName, Panel } from "../../ui";
import { announce } from "../../view";
import type { Holder } from "./Run";
import { abnormalIds, nameOf, stepText, type BoardAnswer } from "./reading";

const ENDED = ["Completed", "Aborted", "Truncated"] as const;

export function ProceduresPanel({ unitId, board }: { unitId: string; board: BoardAnswer }) {
  const zone = useZone();
  const now = useNow(60_000);
  const ended = useRead("list_procedures", { under_asset_id: unitId, status: [...ENDED], order: "newest", limit: 8 }, { current: true });
  const open = board.procedures ?? [];
  const active = open.filter(({ conduct_status }) => conduct_status && conduct_status !== "Ended").length;
  return (
    <Panel title="Procedures" className="procedures not-wall" end={<span className="dim sm">{active ? plural(active, "active conduct") : "no active conduct"}</span>}>
      <ul className="lines">
        {open.map((procedure) => {
          const isInDoubt = procedure.undecided_step_indexes.length > 0;
          const mark = isInDoubt || procedure.lease_expired ? "unknown" : markOf(procedure.status, "ProcedureStatus");
          const details = [stepText(procedure), procedure.lease_expired ? "its worker stopped reporting" : "", reasonText(procedure.reason ?? "")];
          return (
            <li key={procedure.id}>
              <time>{procedure.since ? zone.minute(procedure.since) : ""}</time>
              <Icon name={mark} className={TONES[mark]} />
              <div>
                <ObjectName id={procedure.id} kind="Procedure" name={procedure.name} plain /> {stateText(procedure.status).toLowerCase()}
                <div className="dim">{details.filter(Boolean).join(" · ")}</div>
              </div>
            </li>
          );
        })}
        {(ended.data?.items ?? []).map((procedure) => {
          const mark = markOf(procedure.status, "ProcedureStatus");
          const details = [
            procedure.status === "Completed" ? "" : stateText(procedure.status),
            procedure.iteration_count > 0 ? plural(procedure.iteration_count, "iteration") : "",
            reasonText(procedure.last_status_reason ?? ""),
          ];
          return (
            <li key={procedure.procedure_id}>
              <time>{procedure.ended_at ? (zone.isSameDay(procedure.ended_at, now) ? zone.minute(procedure.ended_at) : zone.day(procedure.ended_at).slice(4)) : ""}</time>
              <Icon name={mark} />
              <div>
                <ObjectName id={procedure.procedure_id} kind="Procedure" name={procedure.name} plain />
                {details.some(Boolean) && <div className="dim">{details.filter(Boolean).join(" · ")}</div>}
              </div>
            </li>
          );
        })}
      </ul>
      {open.length === 0 && ended.data?.items.length === 0 && <EmptyState>No procedure of this beamline has run.</EmptyState>}
      {!board.procedures && <EmptyState>You are not permitted to list procedures.</EmptyState>}
    </Panel>
  );
}

type ShownCaution = Pick<NonNullable<BoardAnswer["cautions"]>[number], "target" | "text" | "workaround"> & { severity: string };

export function CautionsPanel({ board }: { board: BoardAnswer }) {
  const cautions = board.cautions ?? [];
  return (
    <Panel
      title="Cautions"
      className="cautions not-wall"
      note="shown at run start"
      end={
        <span className="dim sm">
          {cautions.length}
          {board.more.includes("cautions") && " and more"}
        </span>
      }
    >
      {cautions.length === 0 ? (
        <EmptyState>{board.cautions ? "No caution is in effect." : "You are not permitted to list cautions."}</EmptyState>
      ) : (
        <div className="stack">
          {cautions.map((caution) => (
            <CautionCard key={caution.id} caution={caution} target={nameOf(namesIn(board), caution.target.id, caution.target.kind.toLowerCase())} />
          ))}
        </div>
      )}
    </Panel>
  );
}

/** A caution with its workaround; only a warning has a colour. */
export function CautionCard({ caution, target }: { caution: Omit<ShownCaution, "target">; target: string }) {
  const isWarning = caution.severity === "Warning";
  return (
    <Callout
      mark={isWarning ? "caution" : "info"}
      title={
        <span className={isWarning ? "warn" : ""}>
          {stateText(caution.severity)} <span className="dim sm target">{target}</span>
        </span>
      }
    >
      <p className="caution-text">{caution.text}</p>
      {caution.workaround && (
        <p>
          <b className="b">Workaround:</b> <span className="dim">{caution.workaround}</span>
        </p>
      )}
    </Callout>
  );
}

const STREAMS = ["Supply", "Enclosure", "Clearance", "Caution", "Visit", "Surface", "Run", "Procedure", "Asset", "Subject", "Plan", "Proposal"];
const BACK_MS = 12 * 3_600_000;
const HOUR_MS = 3_600_000;
const NEW_MS = 10_000;
const ANNOUNCE_MS = 5000;
const MOST = 200;

type Events = Answer<"list_events">;

/** Return the events of the last twelve hours, or of those before the viewed time. */
export function useRecentEvents() {
  const { clock } = useService();
  const { asOf } = useAsOf();
  const [since] = useState(() => new Date(Math.floor((clock.now() - BACK_MS) / HOUR_MS) * HOUR_MS).toISOString());
  const from = asOf ? new Date(Date.parse(asOf) - BACK_MS).toISOString() : since;
  const read = useRead("list_events", { stream_type: STREAMS, since: from, ...(asOf && { until: asOf }), order: "newest", limit: MOST }, { keep: true });
  const announced = useRef(0);
  useEvents((event) => {
    if (!STREAMS.includes(event.streamtype)) return;
    const { isAbnormal, text } = eventText(event.type, event.data);
    if (isAbnormal && Date.now() - announced.current > ANNOUNCE_MS) {
      announced.current = Date.now();
      const name = namesIn(read.data)[event.streamid]?.name ?? event.streamtype;
      announce(`${name} ${text}.`);
    }
  });
  return { read, asOf };
}

/** Return the abnormal events, and those after which an object was no longer abnormal. */
export function abnormalAmong(items: readonly FeedEvent[], abnormal: ReadonlySet<string>): FeedEvent[] {
  const isAbnormal = (event: FeedEvent) => eventText(event.type, event.data).isAbnormal;
  return items.filter((event, index) => {
    if (isAbnormal(event)) return true;
    const before = items.slice(index + 1).find((other) => other.streamid === event.streamid);
    return before !== undefined && isAbnormal(before) && !abnormal.has(event.streamid);
  });
}

/** Return the newest abnormal event of each object that is abnormal now; the others are cleared. */
export function standing(items: readonly FeedEvent[], abnormal: ReadonlySet<string>): Set<string> {
  const seen = new Set<string>();
  const found = new Set<string>();
  for (const event of items) {
    if (!eventText(event.type, event.data).isAbnormal || seen.has(event.streamid)) continue;
    seen.add(event.streamid);
    if (abnormal.has(event.streamid)) found.add(event.id);
  }
  return found;
}

export function EventsPanel({ board, recent }: { board: BoardAnswer; recent: ReturnType<typeof useRecentEvents> }) {
  const [isAll, setAll] = useState(false);
  const zone = useZone();
  const { read, asOf } = recent;
  return (
    <Panel
      title="Recent events"
      className="events not-wall"
      note={asOf ? `until ${zone.time(asOf)}` : undefined}
      end={
        <span className="tabs" role="group" aria-label="Which events">
          <button type="button" className={isAll ? "" : "on"} aria-pressed={!isAll} onClick={() => setAll(false)}>
            Abnormal
          </button>
          <button type="button" className={isAll ? "on" : ""} aria-pressed={isAll} onClick={() => setAll(true)}>
            All
          </button>
        </span>
      }
    >
      <Loaded read={read} what="events" operation="list_events">
        {(events) => <EventLines events={events} board={board} isAll={isAll} />}
      </Loaded>
    </Panel>
  );
}

interface LinesProps {
  events: Events;
  board: BoardAnswer;
  isAll?: boolean;
  most?: number;
}

export function EventLines({ events, board, isAll = false, most = 60 }: LinesProps) {
  const now = useNow(1000);
  const zone = useZone();
  const names = namesIn(events);
  const abnormal = abnormalIds(board);
  const shown = (isAll ? events.items : abnormalAmong(events.items, abnormal)).slice(0, most);
  const still = standing(events.items, abnormal);
  if (shown.length === 0) return <EmptyState>{isAll ? "No events" : "No abnormal events"} in the last 12 hours.</EmptyState>;
  const isFar = shown.some(({ time }) => !zone.isSameDay(time, now));
  return (
    <ul className={isFar ? "lines far" : "lines"} tabIndex={0} aria-label={isAll ? "Events" : "Abnormal events"}>
      {shown.map((event) => {
        const { isAbnormal } = eventText(event.type, event.data);
        const who = names[event.principalid]?.name;
        return (
          <EventLine
            key={event.id}
            type={event.type}
            at={event.time}
            data={event.data}
            subject={nameOf(names, event.streamid, event.streamtype.toLowerCase())}
            {...(who && { note: who })}
            isCleared={isAbnormal && !still.has(event.id)}
            isNew={isAbnormal && still.has(event.id) && now - Date.parse(event.recordedtime) < NEW_MS}
          />
        );
      })}
    </ul>
  );
}

/** Return who held a run last, by the events. */
export function holderOf(events: Events | undefined, runId: string): Holder | undefined {
  const held = events?.items.find(({ type, streamid }) => streamid === runId && type.endsWith("RunHeld"));
  const who = held && namesIn(events)[held.principalid];
  return who && { name: who.name, isAgent: who.kind === "Agent" };
}
