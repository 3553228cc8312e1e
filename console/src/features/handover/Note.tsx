/** The note of the shift to the next one. */
import { useState } from "react";
import { OperationSheet } from "../../actions";
import { namesIn, useRead, useService, type Answer } from "../../api";
import { useMay, useMe } from "../../auth";
import { ActionButton, ObjectName, Pair, Panel, Timestamp, type Values } from "../../ui";
import { useBeamline, useDraft } from "../../view";
import { isIn, type Period } from "./period";
import "./handover.css";

type Decision = Answer<"list_decisions">["items"][number];

/** Return the notes of a period, and the one that is being written. */
export function useNotes(period: Period, facility: string | null) {
  const { data: me } = useMe();
  const { unitId } = useBeamline();
  const [text, setText] = useDraft(`handover:${me?.actor_id ?? ""}:${unitId ?? ""}`);
  const read = useRead("list_decisions", { context: "ShiftHandover", limit: 50 }, { current: true });
  const all = read.data?.items ?? [];
  const notes = all.filter(
    ({ choice, inputs }) => choice === "HandedOver" && isIn(period, inputs?.to) && (!facility || !inputs?.facility_code || inputs.facility_code === facility),
  );
  const names = namesIn(read.data);
  const handedOver = notes.map(({ created_at, actor_id, reasoning }) => ({
    at: created_at,
    by: names[actor_id]?.name ?? "person (no access)",
    text: reasoning ?? "No note was written.",
  }));
  return { text, setText, all, notes, names, written: { handedOver, draft: text } };
}

interface NoteProps {
  period: Period;
  facility: string | null;
  notes: ReturnType<typeof useNotes>;
}

/** Let the shift write its note and hand over, and the next one take over. */
export function Note({ period, facility, notes: { text, setText, all, notes, names } }: NoteProps) {
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
            <ActionButton
              look="main"
              press={() => setSheet({ choice: "HandedOver", reasoning: text, inputs: inputsNow() })}
              reason={offer.reason ?? (text.trim() ? undefined : "Write a note first")}
            >
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
                <Pair label="Handed over">
                  <Timestamp at={note.created_at} /> by <ObjectName id={note.actor_id} names={names} plain />
                </Pair>
                <Pair label="Taken over">
                  {taken ? (
                    <>
                      <Timestamp at={taken.created_at} /> by <ObjectName id={taken.actor_id} names={names} plain />
                    </>
                  ) : (
                    "not yet"
                  )}
                </Pair>
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
