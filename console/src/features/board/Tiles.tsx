/** The states of a beamline that are read from two metres. */
import { useState, type ReactNode } from "react";
import { useRead } from "../../api";
import { OperationButton } from "../../actions";
import { counter, useNow, useZone } from "../../time";
import { markOf, stateText, TONES } from "../../text";
import { ActionButton, Failure, Popover, remaining, Tile, type IconName } from "../../ui";
import type { Mark } from "../../text";
import { visitText, type BoardAnswer, type Readiness } from "./reading";

export interface TileState {
  key: string;
  icon: IconName;
  label: string;
  value: string;
  note: string;
  mark: Mark;
  /** A button next to the note. */
  action?: ReactNode;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MOST_HUTCHES = 12;

/** Return the tiles of a board; values that count are those at this time. */
export function useTiles(board: BoardAnswer, readiness: Readiness | undefined): TileState[] {
  const now = useNow(1000);
  const zone = useZone();
  const since = (at: string | null) => (at ? `since ${zone.stamp(at, now)}` : "");
  const ago = (at: string | null) => (at && now - Date.parse(at) < HOUR ? `${zone.time(at)} · ${counter(now - Date.parse(at))} ago` : since(at));
  const denied = (key: string, icon: IconName, label: string): TileState => ({
    key,
    icon,
    label,
    value: "No access",
    note: "You are not permitted to read this",
    mark: "denied",
  });
  const factsOf = (name: string) => readiness?.checks.find(({ check }) => check === name);

  const needed = new Set(factsOf("supply")?.facts.map(({ id }) => id));
  const shown = (board.supplies ?? []).filter(({ id, kind }) => needed.has(id) || (needed.size === 0 && /beam/.test(kind)));
  const supplies = board.supplies
    ? shown.map((supply): TileState => {
        const mark = supply.stale ? "unknown" : markOf(supply.status, "SupplyStatus");
        const isBeam = supply.kind.includes("beam");
        const parts = TONES[mark] ? [isBeam ? supply.name : "", ago(supply.since), supply.reason] : [isBeam ? supply.name : "", since(supply.since)];
        return {
          key: supply.id,
          icon: isBeam ? "beam" : "gauge",
          label: isBeam ? "Beam" : supply.name,
          value: stateText(supply.status),
          note: (supply.stale && supply.last_reported_at ? [`last report ${zone.stamp(supply.last_reported_at, now)}`] : parts).filter(Boolean).join(" · "),
          mark,
        };
      })
    : [denied("supply", "beam", "Beam")];
  // The beam keeps its place; another supply has a tile only while it is abnormal.
  const [beam, ...others] = [...supplies].sort((one, other) => Number(other.icon === "beam") - Number(one.icon === "beam"));

  const hutches = (board.enclosures ?? []).map((hutch): TileState => {
    const mark = hutch.stale ? "unknown" : markOf(hutch.permit_status, "PermitStatus");
    const details =
      mark === "unknown"
        ? [hutch.last_reported_at && `last report ${zone.stamp(hutch.last_reported_at, now)}`, "only the interlock can clear this"]
        : [TONES[mark] ? ago(hutch.since) : `Interlock, ${since(hutch.since)}`, TONES[mark] ? hutch.reason : ""];
    return {
      key: hutch.id,
      icon: "hutch",
      label: hutch.name,
      value: stateText(hutch.permit_status),
      note: details.filter(Boolean).join(" · "),
      mark,
    };
  });
  // Up to three hutches keep their places; of more, the abnormal ones come first.
  if (hutches.length > 3) hutches.sort((one, other) => Number(TONES[other.mark] !== "") - Number(TONES[one.mark] !== ""));

  return [
    ...(beam ? [beam] : []),
    ...others.filter(({ mark }) => TONES[mark] !== ""),
    ...(board.enclosures ? hutches.slice(0, MOST_HUTCHES) : [denied("hutch", "hutch", "Hutches")]),
    clearanceTile(board, factsOf("clearance"), now, zone),
    controlTile(board, now, zone) ?? denied("control", "person", "Control"),
  ];
}

type Zone = ReturnType<typeof useZone>;

function clearanceTile(board: BoardAnswer, check: Readiness["checks"][number] | undefined, now: number, zone: Zone): TileState {
  const tile = { key: "clearance", icon: "document" as const, label: "Clearance" };
  if (!board.clearances) return { ...tile, value: "No access", note: "You are not permitted to read this", mark: "denied" };
  const covering = new Set(check?.facts.filter((fact) => fact.in_force).map(({ id }) => id));
  const clearance = board.clearances.find(({ id }) => covering.has(id)) ?? (check && !check.passed ? undefined : board.clearances[0]);
  if (!clearance) {
    const mark = check && !check.passed ? "blocks" : "pending";
    return { ...tile, value: "None", note: "No clearance is in force", mark };
  }
  if (!clearance.valid_until) return { ...tile, value: "No end", note: clearance.title, mark: "normal" };
  const { text, tone } = remaining(clearance.valid_until, now);
  return {
    ...tile,
    value: text,
    note: `until ${untilText(clearance.valid_until, now, zone)} · ${clearance.title}`,
    mark: tone === "alarm" ? "blocks" : tone === "warn" ? "caution" : "normal",
  };
}

/** Return an end; the time that is left stands above it and says the day of one that is near. */
const untilText = (until: string, now: number, zone: Zone) => (Date.parse(until) - now < DAY ? zone.minute(until) : zone.stamp(until, now));

/** Return a beginning so short that a button has room next to it. */
const sinceText = (since: string, now: number, zone: Zone) => `since ${zone.isSameDay(since, now) ? zone.minute(since) : zone.day(since)}`;

function controlTile(board: BoardAnswer, now: number, zone: Zone): TileState | undefined {
  if (!board.surfaces) return undefined;
  const tile = { key: "control", icon: "person" as const, label: "Control" };
  const surface = board.surfaces.find(({ controlling_visit_id }) => controlling_visit_id) ?? board.surfaces[0];
  if (!surface) return { ...tile, value: "None", note: "No surface belongs to this beamline", mark: "pending" };
  if (!surface.controlling_visit_id) return { ...tile, value: "Free", note: surface.name, mark: "pending", action: <TakeControl surface={surface} /> };
  const { visit } = surface;
  const since = surface.controlled_since ? sinceText(surface.controlled_since, now, zone) : "";
  return {
    ...tile,
    label: visit ? `${tile.label} · ${stateText(visit.type).toLowerCase()} visit` : tile.label,
    value: visit ? visitText(visit) : "Taken",
    note: [since, visit ? "" : "visit (no access)"].filter(Boolean).join(" · "),
    mark: visit?.status === "OnHold" ? "held" : "normal",
    ...(visit && {
      action: (
        <OperationButton
          operation="release_visit_surface_control"
          about={{ visit_id: visit.id }}
          name={surface.name}
          states={{ controlling: "true" }}
          size="small"
          look="quiet"
          hideReason
        >
          Release
        </OperationButton>
      ),
    }),
  };
}

type Surface = NonNullable<BoardAnswer["surfaces"]>[number];

/** Offer control of a surface to the visits that are at it. */
function TakeControl({ surface }: { surface: Surface }) {
  return (
    <Popover
      label="Take control"
      align="right"
      button={({ isOpen, toggle, id }) => (
        <ActionButton size="small" press={toggle} opens={{ isOpen, id }}>
          Take…
        </ActionButton>
      )}
    >
      {() => <Visits surface={surface} />}
    </Popover>
  );
}

function Visits({ surface }: { surface: Surface }) {
  const visits = useRead("list_visits", { parent_surface_id: surface.id, status: ["InProgress", "Arrived", "OnHold"], limit: 20 }, { current: true });
  const [taken, setTaken] = useState(false);
  if (visits.problem && !visits.data)
    return (
      <div className="pad">
        <Failure problem={visits.problem} what="the visits" operation="list_visits" again={visits.again} />
      </div>
    );
  if (visits.data?.items.length === 0) return <p className="pad sm dim">No visit is at this surface.</p>;
  return (
    <ul className="pad">
      {(visits.data?.items ?? []).map((visit) => (
        <li key={visit.visit_id} className="row between">
          <span>
            <b className="b">{visitText(visit)}</b> <span className="dim sm">{stateText(visit.status).toLowerCase()}</span>
          </span>
          {!taken && (
            <OperationButton operation="take_visit_surface_control" about={{ visit_id: visit.visit_id }} name={surface.name} size="small" done={() => setTaken(true)}>
              Take
            </OperationButton>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Show the tiles; keys 1 to 5 go to them. */
export function Tiles({ tiles, asOf }: { tiles: readonly TileState[]; asOf: string | undefined }) {
  return (
    <div className={`tiles ${tiles.length > 5 ? "many" : ""}`}>
      {tiles.map((tile, index) => (
        <Tile
          key={tile.key}
          id={`tile-${index + 1}`}
          icon={tile.icon}
          label={tile.label}
          value={<span className={sizeOf(tile.value)}>{tile.value}</span>}
          note={
            tile.action === undefined ? (
              tile.note
            ) : (
              <span className="row note">
                <span className="cut grow">{tile.note}</span>
                <span className="not-wall">{tile.action}</span>
              </span>
            )
          }
          mark={tile.mark}
          asOf={asOf}
        />
      ))}
    </div>
  );
}

/** Long words are set smaller, so that none is cut off. */
const sizeOf = (text: string) => (text.length > 16 ? "longer" : text.length > 11 ? "long" : "");
