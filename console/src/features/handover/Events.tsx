/** What happened in the shift. */
import type { ReactNode } from "react";
import { plural } from "../../text";
import { counter, useNow, useZone } from "../../time";
import { EmptyState, EventLine, Loaded, ObjectName, Panel } from "../../ui";
import { useSearchParam } from "../../view";
import { isAbnormal, linesOf, MARKS, nameOf, TOPICS, whyOf, type Shift } from "./text";
import "./handover.css";
import type { ReadShift } from "./StillOpen";

/** Show what happened by topic; the abnormal events, or all of them. */
export function Events({ read, period }: { read: ReadShift; period: string }) {
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
