/** The activities, events and captures of a procedure. */
import { namesIn, useAllPages, type Names } from "../../api";
import { markOf, stateText, stepNumber, TONES } from "../../text";
import { useAsOf } from "../../time";
import { DataTable, EmptyState, EventLine, Pair, Tabs, Timestamp } from "../../ui";
import { valueText, type Activity } from "./steps";
import type { Conduct, Procedure } from "./steps";

interface LogProps {
  procedure: Procedure;
  conduct: Conduct | undefined;
  activities: readonly Activity[];
  names: Names;
  isCut: boolean;
}

export function Log({ procedure, conduct, activities, names, isCut }: LogProps) {
  const { asOf } = useAsOf();
  const history = useAllPages("get_procedure_history", { procedure_id: procedure.procedure_id });
  const events = (history.data?.items ?? []).filter(({ occurred_at }) => !asOf || Date.parse(occurred_at) <= Date.parse(asOf));
  const captures = Object.entries((conduct?.captures ?? {}) as Record<string, unknown>);
  const left = [...(isCut ? ["activities"] : []), ...(history.data?.next_cursor ? ["events"] : [])];
  return (
    <Tabs
      label="Activity log"
      note={left.length > 0 ? `Later ${left.join(" and ")} are left out` : procedure.iteration_count > 1 ? "activities of the last iteration" : undefined}
      tabs={[
        { title: "Activities", count: activities.length, flush: true, show: () => <Activities activities={activities} names={names} /> },
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
                  note={namesIn(history.data)[event.principal_id]?.name}
                  isCleared
                />
              ))}
            </ul>
          ),
        },
        {
          title: asOf ? "Captures (current)" : "Captures",
          count: captures.length,
          show: () =>
            captures.length === 0 ? (
              <EmptyState>No value was captured.</EmptyState>
            ) : (
              <dl className="kv">
                {captures.map(([name, value]) => (
                  <Pair key={name} label={name}>
                    {valueText(value)}
                  </Pair>
                ))}
              </dl>
            ),
        },
      ]}
    />
  );
}

function Activities({ activities, names }: { activities: readonly Activity[]; names: Names }) {
  return (
    <div className="compact">
      <DataTable<Activity>
        label="Activities"
        rows={[...activities].reverse()}
        rowKey={(row) => row.activity_id}
        empty={<EmptyState>No activity is recorded.</EmptyState>}
        columns={[
          { key: "at", title: "Time", cell: (row) => <Timestamp at={row.sampled_at} /> },
          { key: "what", title: "What", cell: (row) => <span className={TONES[markOf(row.stage, "Stage")] === "alarm" ? "alarm" : ""}>{activityText(row)}</span> },
          { key: "who", title: "Who", cell: (row) => (row.source === "Conductor" ? `worker ${row.claim ?? ""}` : (names[row.principal_id]?.name ?? "by hand")) },
          { key: "detail", title: "Detail", cell: (row) => <span className="dim">{detailText(row)}</span> },
        ]}
      />
    </div>
  );
}

function activityText({ step_index: index, phase, step_kind: kind, stage }: Activity): string {
  const step = index === null ? stateText(kind) : phase === "Closing" ? `Closing step ${String.fromCharCode(97 + index)}` : `Step ${stepNumber(index)}`;
  return `${step} ${stateText(stage).toLowerCase()}`;
}

function detailText({ detail, attempt }: Activity): string {
  const text = typeof detail.message === "string" ? detail.message : detail.value === undefined ? "" : `value ${valueText(detail.value)}`;
  return [text, attempt !== null && attempt > 1 ? `attempt ${attempt}` : ""].filter(Boolean).join(", ");
}
