/** What happened to an asset. */
import { namesIn, routes, useRead, type RecordedEvent } from "../../api";
import { eventText, plural, reasonIn, TONES } from "../../text";
import { useAsOf, useNow, useZone } from "../../time";
import { Icon, Loaded } from "../../ui";

const MOST = 100;

/** Show what happened to an asset, newest first; events after the viewed time are shown apart. */
export function History({ assetId }: { assetId: string }) {
  const history = useRead("get_asset_history", { asset_id: assetId, limit: MOST });
  const { asOf } = useAsOf();
  return (
    <Loaded read={history} what="the history" operation="get_asset_history">
      {(data) => {
        const names = namesIn(data);
        const events = [...data.items].reverse();
        const isLater = (event: RecordedEvent) => asOf !== undefined && Date.parse(event.recorded_at) > Date.parse(asOf);
        const later = events.filter(isLater);
        const until = events.filter((event) => !isLater(event));
        return (
          <div className="sec">
            <h3>
              History, {plural(events.length, "event")}
              {data.next_cursor && `, the first ${MOST}`}
            </h3>
            <ul className="hist">
              {later.map((event) => (
                <HistoryLine key={event.event_id} event={event} by={names[event.principal_id]?.name} isLater />
              ))}
              {asOf && <ViewedTime asOf={asOf} />}
              {until.map((event, at) => (
                <HistoryLine key={event.event_id} event={event} by={names[event.principal_id]?.name} isCleared={isCleared(event, until.slice(0, at))} />
              ))}
            </ul>
          </div>
        );
      }}
    </Loaded>
  );
}

/** The axis that an event moves, by the moves that the service tells of its command. */
const axesOf = (event: RecordedEvent) =>
  ((routes as Record<string, { moves?: { axis: string; event: string }[] } | undefined>)[event.command_name]?.moves ?? [])
    .filter((move) => move.event === event.event_type)
    .map(({ axis }) => axis);

/** Return whether a later event moved the same axis: what the event reports is over. */
function isCleared(event: RecordedEvent, later: readonly RecordedEvent[]): boolean {
  const axes = axesOf(event);
  return later.some((each) => axesOf(each).some((axis) => axes.includes(axis)));
}

function ViewedTime({ asOf }: { asOf: string }) {
  const zone = useZone();
  return <li className="cutline">{zone.time(asOf)}, viewed time</li>;
}

function HistoryLine({ event, by, isLater = false, isCleared: isOver = false }: { event: RecordedEvent; by: string | undefined; isLater?: boolean; isCleared?: boolean }) {
  const zone = useZone();
  const now = useNow(0);
  const { text, mark } = eventText(event.event_type, event.payload);
  const reason = reasonIn(event.payload);
  return (
    <li className={isLater ? "later" : ""}>
      <time className="dim" dateTime={event.recorded_at} title={`${zone.day(event.recorded_at)} ${zone.time(event.recorded_at)}`}>
        {zone.isSameDay(event.recorded_at, now) ? zone.time(event.recorded_at) : zone.day(event.recorded_at).slice(4)}
      </time>
      <Icon name={mark} className={isLater || isOver ? "" : TONES[mark]} />
      <span>
        {text.charAt(0).toUpperCase() + text.slice(1)}
        {reason && `: ${reason}`}
      </span>
      <span className="dim sm nowrap">{by ?? "not visible"}</span>
    </li>
  );
}
