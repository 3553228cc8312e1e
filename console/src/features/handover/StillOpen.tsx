/** What the shift leaves open. */
import { useRead } from "../../api";
import { markOfKind, plural, reasonText, stateText, TONES } from "../../text";
import { useZone } from "../../time";
import { Countdown, Icon, Loaded, ObjectName, Panel, Timestamp } from "../../ui";
import { nameOf, type Line, type Shift } from "./text";
import "./handover.css";

export interface ReadShift {
  data: Shift | undefined;
  problem: ReturnType<typeof useRead>["problem"];
  again: () => void;
}

/** Show what the shift leaves open, and what expires soon after it. */
export function StillOpen({ read, isOver }: { read: ReadShift; isOver: boolean }) {
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
            {[...(open ?? [])]
              .sort((a, b) => Number(isAmiss(b)) - Number(isAmiss(a)))
              .map((line) => {
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
