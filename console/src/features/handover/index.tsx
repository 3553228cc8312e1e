/** Handover: what is still open, what happened in the shift, and the note to the next one. */
import { useRead } from "../../api";
import { useNow, useZone } from "../../time";
import { CopyButton } from "../../ui";
import { useSearchParam } from "../../view";
import { lastHours, LENGTHS, USUAL, type Period } from "./period";
import { asText } from "./text";
import "./handover.css";
import { Current } from "./Current";
import { Events } from "./Events";
import { Note, useNotes } from "./Note";
import { StillOpen } from "./StillOpen";

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
  const periodText = `${zone.day(period.from)}, ${zone.minute(period.from)} to ${end}`;
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
        <span className="dim">{periodText}</span>
        <span className="end">{read.data && <CopyButton text={asText(read.data, notes.written, periodText, (at) => zone.stamp(at, now))}>Copy as text</CopyButton>}</span>
      </div>
      <StillOpen read={read} isOver={isOver} />
      <Events read={read} period={periodText} />
      <div className="aside">
        <Note period={period} facility={read.data?.facility_code ?? null} notes={notes} />
        <Current />
      </div>
    </div>
  );
}
