/** Handover: what is still open, what happened in the shift, and the note to the next one. */
import { useState, type ReactNode } from "react";
import { OperationSheet } from "../../actions";
import { namesIn, useRead, useService, type Answer } from "../../api";
import { useMay, useMe } from "../../auth";
import { markOf, markOfKind, plural, reasonText, stateText, TONES, type StateSchema } from "../../text";
import { counter, useNow, useZone } from "../../time";
import { ActionButton, CopyButton, Countdown, EmptyState, EventLine, Icon, Loaded, ObjectName, Panel, StateMark, Timestamp, type Values } from "../../ui";
import { useBeamline, useDraft, useSearchParam } from "../../view";
import { isIn, lastHours, LENGTHS, USUAL, type Period } from "./period";
import { asText, isAbnormal, linesOf, MARKS, nameOf, TOPICS, whyOf, type Line, type Shift } from "./text";
import "./handover.css";

/** Handover. */
export default function Handover() {
  const zone = useZone();
  const now = useNow(60_000);
  const [from, setFrom] = useSearchParam("from");
  const [to, setTo] = useSearchParam("to");
  const [given, setHours] = useSearchParam("hours");
  const hours = Number(given) > 0 ? Number(given) : USUAL;
  const isOther = from !== undefined && to !== undefined;
  const period: Period = isOther ? { from, to } : lastHours(hours, now);
  const read = useRead("get_shift_handover", period, { keep: true, current: true });
  const notes = useNotes(period, read.data?.facility_code ?? null);
  const choose = (length: number | undefined) => {
    setFrom(length === undefined ? period.from : undefined);
    setTo(length === undefined ? period.to : undefined);
    setHours(length === undefined || length === USUAL ? undefined : String(length));
  };
  const isOver = Date.parse(period.to) <= now;
  const end = isOver ? `${zone.isSameDay(period.from, period.to) ? "" : `${zone.day(period.to)}, `}${zone.minute(period.to)}` : "now";
  const told = `${zone.day(period.from)}, ${zone.minute(period.from)} to ${end}`;
  return (
    <div className="main shift">
      <div className="head">
        <h1 className="screen-title">Handover</h1>
        <div className="period" role="group" aria-label="Shift">
          {LENGTHS.map((length) => (
            <button key={length} type="button" aria-pressed={!isOther && hours === length} onClick={() => choose(length)}>
              Last {length} h
            </button>
          ))}
          <button type="button" aria-pressed={isOther} onClick={() => choose(undefined)}>
            From, to…
          </button>
        </div>
        {isOther && (
          <span className="row period-ends">
            {(["from", "to"] as const).map((side) => (
              <input
                key={side}
                className="in"
                type="datetime-local"
                aria-label={side === "from" ? "From" : "To"}
                value={zone.local(period[side]).slice(0, 16)}
                onChange={(event) => {
                  const moment = zone.parse(event.target.value);
                  if (moment) (side === "from" ? setFrom : setTo)(moment);
                }}
              />
            ))}
          </span>
        )}
        <span className="dim">{told}</span>
        <span className="end">{read.data && <CopyButton text={asText(read.data, notes.told, told, (at) => zone.stamp(at, now))}>Copy as text</CopyButton>}</span>
      </div>
      <StillOpen read={read} isOver={isOver} />
      <Events read={read} period={told} />
      <div className="beside">
        <Note period={period} facility={read.data?.facility_code ?? null} notes={notes} />
        <Current />
      </div>
    </div>
  );
}

interface ReadShift {
  data: Shift | undefined;
  problem: ReturnType<typeof useRead>["problem"];
  again: () => void;
}

/** Show what the shift leaves open, and what expires soon after it. */
function StillOpen({ read, isOver }: { read: ReadShift; isOver: boolean }) {
  const zone = useZone();
  const data = read.data;
  const count = (data?.open?.length ?? 0) + (data?.expiring.length ?? 0);
  return (
    <Panel title={data && isOver ? `Still open at ${zone.minute(data.to)}` : "Still open"} note={data && plural(count, "item")} flush>
      <Loaded read={read} what="what is open" operation="get_shift_handover">
        {({ open, expiring }) => (
          <ul className="left-open">
            {open === null && <li>Too much has changed since the end of this shift to say what was open.</li>}
            {expiring.map((line) => (
              <li key={`expiring ${line.id}`}>
                <Icon name="caution" className="warn" />
                <b>
                  <ObjectName id={line.id} kind={line.kind} name={line.name} plain /> expires
                </b>
                <span className="t">
                  <Countdown until={line.at} />
                </span>
                <p>
                  {line.kind}, valid until <Timestamp at={line.at} />
                </p>
              </li>
            ))}
            {[...(open ?? [])].sort((a, b) => Number(isAmiss(b)) - Number(isAmiss(a))).map((line) => {
              const mark = markOfKind(line.kind, line.state ?? "");
              return (
                <li key={`${line.id} ${line.what}`}>
                  <Icon name={mark} className={TONES[mark]} />
                  <b>
                    <ObjectName id={line.id} kind={line.kind} name={nameOf(line)} plain />
                    {line.state && `: ${stateText(line.state).toLowerCase()}`}
                  </b>
                  <span className="t">
                    since <Timestamp at={line.at} />
                  </span>
                  <p>
                    {line.kind}
                    {line.why && `. ${reasonText(line.why)}`}
                  </p>
                </li>
              );
            })}
            {open?.length === 0 && expiring.length === 0 && <li>Nothing is open.</li>}
          </ul>
        )}
      </Loaded>
    </Panel>
  );
}

/** Return whether the state of what is open is abnormal. */
const isAmiss = ({ kind, state }: Line) => ["alarm", "warn", "unk"].includes(TONES[markOfKind(kind, state ?? "")]);

/** Show what happened by topic; the abnormal events, or all of them. */
function Events({ read, period }: { read: ReadShift; period: string }) {
  const [shown, setShown] = useSearchParam("events");
  const isAll = shown === "all";
  const zone = useZone();
  const now = useNow(60_000);
  return (
    <Panel
      title="Events"
      note={period}
      flush
      end={
        <span className="tabs" role="group" aria-label="Which events">
          <button type="button" className={isAll ? "" : "on"} aria-pressed={!isAll} onClick={() => setShown(undefined)}>
            Abnormal
          </button>
          <button type="button" className={isAll ? "on" : ""} aria-pressed={isAll} onClick={() => setShown("all")}>
            All
          </button>
        </span>
      }
    >
      <Loaded read={read} what="events" operation="get_shift_handover">
        {(shift) => {
          const count = (...types: string[]) => shift.runs.filter(({ what }) => types.includes(what)).length;
          return (
            <>
              <dl className="sum">
                <Sum label="runs started">{count("RunStarted")}</Sum>
                <Sum label="completed">{count("RunCompleted")}</Sum>
                <Sum label="ended early">{count("RunStopped", "RunAborted", "RunTruncated")}</Sum>
                <Sum label="held">{counter(heldFor(shift))}</Sum>
              </dl>
              {TOPICS.map(([title, lists]) => {
                const lines = linesOf(shift, lists);
                const listed = isAll ? lines : lines.filter((line) => isAbnormal(line) || lists.includes("notes"));
                if (lines.length === 0) return null;
                return (
                  <section key={title} className="topic">
                    <h3>
                      {title} <span>{isAll ? plural(lines.length, "event") : `${listed.length} listed, ${lines.length - listed.length} normal`}</span>
                    </h3>
                    <ul className={listed.every(({ at }) => zone.isSameDay(at, now)) ? "lines" : "lines far"}>
                      {listed.map((line, at) => (
                        <EventLine
                          key={`${line.id} ${line.at} ${at}`}
                          type={line.what}
                          at={line.at}
                          subject={<ObjectName id={line.id} kind={line.kind} name={nameOf(line)} plain />}
                          mark={MARKS[line.what]}
                          data={{ ...(line.why && { reason: whyOf(line.why) }), ...(line.state && { status: line.state }) }}
                          isCleared
                        />
                      ))}
                    </ul>
                  </section>
                );
              })}
              {TOPICS.every(([, lists]) => linesOf(shift, lists).length === 0) && (
                <div className="topic">
                  <EmptyState>Nothing happened in this shift.</EmptyState>
                </div>
              )}
            </>
          );
        }}
      </Loaded>
    </Panel>
  );
}

function Sum({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Return how long runs were held within the shift, as far as the hold and its end are in it. */
function heldFor({ holds }: Shift): number {
  const since = new Map<string, number>();
  let sum = 0;
  for (const { id, what, at } of holds) {
    const began = since.get(id);
    if (what === "RunHeld") since.set(id, Date.parse(at));
    else if (began !== undefined) {
      sum += Date.parse(at) - began;
      since.delete(id);
    }
  }
  return sum;
}

type Decision = Answer<"list_decisions">["items"][number];

/** Return the notes of a period, and the one that is being written. */
function useNotes(period: Period, facility: string | null) {
  const { data: me } = useMe();
  const { unitId } = useBeamline();
  const [text, setText] = useDraft(`handover:${me?.actor_id ?? ""}:${unitId ?? ""}`);
  const read = useRead("list_decisions", { context: "ShiftHandover", limit: 50 }, { current: true });
  const all = read.data?.items ?? [];
  const notes = all.filter(({ choice, inputs }) => choice === "HandedOver" && isIn(period, inputs?.to) && (!facility || !inputs?.facility_code || inputs.facility_code === facility));
  const names = namesIn(read.data);
  const handedOver = notes.map(({ created_at, actor_id, reasoning }) => ({
    at: created_at,
    by: names[actor_id]?.name ?? "person (no access)",
    text: reasoning ?? "No note was written.",
  }));
  return { text, setText, all, notes, names, told: { handedOver, draft: text } };
}

interface NoteProps {
  period: Period;
  facility: string | null;
  notes: ReturnType<typeof useNotes>;
}

/** Let the shift write its note and hand over, and the next one take over. */
function Note({ period, facility, notes: { text, setText, all, notes, names } }: NoteProps) {
  const may = useMay();
  const { clock } = useService();
  const [sheet, setSheet] = useState<Values>();
  const takenOver = ({ decision_id }: Decision) => all.find(({ choice, parent_id }) => choice === "TakenOver" && parent_id === decision_id);
  const waiting = notes.find((note) => !takenOver(note));
  const offer = may("register_decision");
  const inputsNow = () => ({
    from: period.from,
    to: new Date(Math.min(Date.parse(period.to), clock.now())).toISOString(),
    ...(facility && { facility_code: facility }),
  });
  return (
    <Panel
      title="Handover note"
      note={waiting && "waits to be taken over"}
      footer={
        <>
          {waiting ? (
            <ActionButton look="main" press={() => setSheet({ choice: "TakenOver", parent_id: waiting.decision_id, inputs: waiting.inputs })} reason={offer.reason}>
              Take over…
            </ActionButton>
          ) : (
            <ActionButton look="main" press={() => setSheet({ choice: "HandedOver", reasoning: text, inputs: inputsNow() })} reason={offer.reason ?? (text.trim() ? undefined : "Write a note first")}>
              Hand over…
            </ActionButton>
          )}
          <span className="end" />
          <ActionButton look="quiet" press={() => window.print()}>
            Print
          </ActionButton>
        </>
      }
    >
      <div className="note">
        {!waiting && (
          <div className="field">
            <label htmlFor="handover-note">Note</label>
            <textarea id="handover-note" className="in" value={text} onChange={(event) => setText(event.target.value)} />
            <span className="hint">Kept in this tab until you hand over. Stored as a decision, context ShiftHandover. Do not name people.</span>
          </div>
        )}
        {notes.map((note) => {
          const taken = takenOver(note);
          return (
            <section key={note.decision_id} className="said-by">
              <p className="said">{note.reasoning ?? "No note was written."}</p>
              <dl className="kv sm">
                <Row label="Handed over">
                  <Timestamp at={note.created_at} /> by <ObjectName id={note.actor_id} names={names} plain />
                </Row>
                <Row label="Taken over">
                  {taken ? (
                    <>
                      <Timestamp at={taken.created_at} /> by <ObjectName id={taken.actor_id} names={names} plain />
                    </>
                  ) : (
                    "not yet"
                  )}
                </Row>
              </dl>
            </section>
          );
        })}
      </div>
      {sheet && (
        <OperationSheet
          operation="register_decision"
          about={{ context: "ShiftHandover", ...sheet }}
          isBare
          lead={<p>{sheet.choice === "HandedOver" ? "Records that you hand this shift over with your note." : "Records that you have read the note and take over."}</p>}
          done={() => setText("")}
          close={() => setSheet(undefined)}
        />
      )}
    </Panel>
  );
}

/** Show how the beamline stands now. */
function Current() {
  const { unitId } = useBeamline();
  const read = useRead("get_board", { asset_id: unitId ?? "" }, { when: unitId !== undefined, current: true });
  return (
    <Panel title="Now">
      {unitId === undefined ? (
        <EmptyState>No beamline is registered.</EmptyState>
      ) : (
        <Loaded read={read} what="the beamline" operation="get_board">
          {({ supplies, enclosures, runs, procedures, surfaces }) => (
            <dl className="kv">
              <Normally
                label="Supplies"
                word="Available"
                rows={(supplies ?? []).map(({ id, name, status }) => ({ id, name, state: status, schema: "SupplyStatus" as const }))}
              />
              <Normally
                label="Hutches"
                word="Permitted"
                rows={(enclosures ?? []).map(({ id, name, permit_status }) => ({ id, name, state: permit_status, schema: "PermitStatus" as const }))}
              />
              <Row label="Runs">{runs?.length ? runs.map((run) => <StateMark key={run.id} state={run.status} schema="RunStatus">{run.name}</StateMark>) : <StateMark mark="normal">no active run</StateMark>}</Row>
              <Row label="Procedures">
                {procedures?.length ? procedures.map((each) => <StateMark key={each.id} state={each.status} schema="ProcedureStatus">{each.name}</StateMark>) : <StateMark mark="normal">no active procedure</StateMark>}
              </Row>
              {(surfaces ?? []).map((each) => (
                <Row key={each.id} label="Control">
                  <StateMark mark={each.visit ? "progress" : "normal"}>{`${each.visit ? `${stateText(each.visit.type)} visit` : "Free"}, ${each.name}`}</StateMark>
                </Row>
              ))}
            </dl>
          )}
        </Loaded>
      )}
    </Panel>
  );
}

interface Standing {
  id: string;
  name: string;
  state: string;
  schema: StateSchema;
}

/** Count what is normal in one row, and give each of the others its own. */
function Normally({ label, word, rows }: { label: string; word: string; rows: readonly Standing[] }) {
  const [normal, others] = [rows.filter(({ state, schema }) => markOf(state, schema) === "normal"), rows.filter(({ state, schema }) => markOf(state, schema) !== "normal")];
  return (
    <>
      {others.map(({ id, name, state, schema }) => (
        <Row key={id} label={name}>
          <StateMark state={state} schema={schema} />
        </Row>
      ))}
      {normal.length > 0 && (
        <Row label={label}>
          <StateMark mark="normal">{normal.length === rows.length ? `${word}, all ${rows.length}` : `${word}, ${normal.length} of ${rows.length}`}</StateMark>
        </Row>
      )}
    </>
  );
}

function Row({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="pair">
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
