/** The lanes above the plots: the needed supplies and the hutches of a run. */
import { useMemo } from "react";
import { routes, useRead, useReads, type Answer } from "../../api";
import type { Lane } from "../../ui";
import { happenedIn, spansOf } from "./spans";

const MOST_EVENTS = 500;
/** The states in which a supply is no longer there. */
const ENDED = new Set(
  Object.values(routes)
    .filter(({ aggregate }) => aggregate === "Supply")
    .flatMap(({ moves = [] }) => moves.filter(({ terminal }) => terminal).map(({ to }) => to)),
);

interface Asked {
  run: Answer<"get_run">;
  /** The kinds of supply that the method needs. */
  supplyKinds: readonly string[];
  enclosureIds: readonly string[];
  until: number;
}

/** Return the lanes of what a run depends on, and whether events are left out. */
export function useLanes({ run, supplyKinds, enclosureIds, until }: Asked): { lanes: Lane[]; isCut: boolean } {
  const begin = run.created_at;
  const needed = useReads(
    "list_supplies",
    supplyKinds.map((kind) => ({ kind, limit: 100 })),
  ).flatMap(({ data }) => data?.items ?? []);
  const supplyIds = needed.map(({ supply_id }) => supply_id);
  const supplies = useReads(
    "get_supply",
    supplyIds.map((supply_id) => ({ supply_id, as_of: begin })),
  );
  const enclosures = useReads(
    "get_enclosure",
    enclosureIds.map((enclosure_id) => ({ enclosure_id, as_of: begin })),
  );
  const ids = [...supplyIds, ...enclosureIds];
  const read = useRead("list_events", { stream_id: ids, since: begin, ...(run.ended_at && { until: run.ended_at }), limit: MOST_EVENTS }, { when: ids.length > 0, keep: true });
  const events = useMemo(() => read.data?.items ?? [], [read.data]);

  const laneOf = (id: string, name: string, state: string | undefined, axis: "status" | "permit_status"): Lane => ({
    name,
    spans: spansOf({ at: Date.parse(begin), state }, events.filter(({ streamid }) => streamid === id).map(happenedIn), {
      axis,
      schema: axis === "status" ? "SupplyStatus" : "PermitStatus",
      until,
    }),
  });
  const lanes = [
    ...needed.flatMap(({ supply_id, name }, index) => {
      const state = supplies[index]?.data?.status;
      return state !== undefined && ENDED.has(state) ? [] : [laneOf(supply_id, name, state, "status")];
    }),
    ...enclosureIds.flatMap((id, index) => {
      const found = enclosures[index]?.data;
      return found ? [laneOf(id, found.name, found.permit_status, "permit_status")] : [];
    }),
  ];
  return { lanes, isCut: read.data?.more === true };
}
