/** Keeps every shown answer current. */
import { useQueryClient, type Query } from "@tanstack/react-query";
import { createContext, useCallback, useContext, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { useService } from "../api/client";
import type { StreamType } from "../api/names";
import type { FeedEvent } from "../api/types";
import type { FeedMessage, RowNotice } from "./follow";
import { affectedBy, isAboutOther, isListed, ROWS } from "../api/invalidation";
import { SharedFeed, type FeedStatus } from "./leader";
import { Pace } from "./pace";

const GATHER_MS = 100;
const REST_MS = 400;
const ROWS_MS = 1000;

type Listener = (event: FeedEvent) => void;

interface Feed {
  status: FeedStatus;
  /** When the last word of the feed came, by Date.now. */
  heardAt: () => number;
  reconnect: () => void;
  listen: (listener: Listener) => () => void;
}

const FeedContext = createContext<Feed>({
  status: { state: "connecting" },
  heardAt: () => Date.now(),
  reconnect: () => undefined,
  listen: () => () => undefined,
});

/** Return the state of the feed. */
export function useFeed(): Feed {
  return useContext(FeedContext);
}

/** Call a function for every event of the feed while the component is shown. */
export function useEvents(heard: Listener): void {
  const { listen } = useFeed();
  const latest = useRef(heard);
  useEffect(() => {
    latest.current = heard;
  });
  useEffect(() => listen((event) => latest.current(event)), [listen]);
}

type Changed = { stream: StreamType; id: string; event?: string };

/** Return whether one of these changes makes a query outdated. */
export function isOutdated(query: Pick<Query, "queryKey">, changes: readonly Changed[]): boolean {
  const [operation, parameters] = query.queryKey as [string, Record<string, unknown> | undefined];
  return changes.some(({ stream, id }) =>
    operation === "list_events" ? isListed(parameters, stream, id) : affectedBy(stream).has(operation) && !isAboutOther(operation, parameters, stream, id),
  );
}

const readsOf = (table: string) => (ROWS as Record<string, readonly string[] | undefined>)[table] ?? [];
const OF_ROWS = new Set<string>(Object.values(ROWS).flat());

/** Return whether a query may be outdated although the feed has delivered every event. */
function needsReading({ queryKey, state }: Query): boolean {
  return OF_ROWS.has(String(queryKey[0])) || state.isInvalidated || state.status === "error";
}

export function FeedProvider({ principal, children }: { principal: string | undefined; children: ReactNode }) {
  const service = useService();
  const queries = useQueryClient();
  const [status, setStatus] = useState<FeedStatus>({ state: "connecting" });
  const feed = useRef<SharedFeed>(undefined);
  const listeners = useRef(new Set<Listener>());

  useEffect(() => {
    if (!principal) return;
    // A first answer that is still on its way may be as old as the others.
    const readAgain = (filters: { predicate?: (query: Query) => boolean } = {}) => queries.cancelQueries(filters).then(() => queries.invalidateQueries(filters));
    const events = new Pace<Changed>({
      read: (changes) => readAgain({ predicate: (query) => isOutdated(query, changes) }),
      gatherMs: GATHER_MS,
      restMs: REST_MS,
    });
    const rows = new Pace<RowNotice>({
      read: (notices) => {
        const reads = new Set(notices.flatMap(({ table }) => readsOf(table)));
        return readAgain({ predicate: ({ queryKey }) => reads.has(String(queryKey[0])) });
      },
      gatherMs: ROWS_MS,
      restMs: ROWS_MS,
    });
    const heard = (message: FeedMessage) => {
      if (message.kind === "beat") service.clock.beat(message.beat.now);
      else if (message.kind === "rows") rows.add(message.rows);
      else if (message.kind === "event") {
        const { event } = message;
        service.saw(event.positiontoken);
        events.add({
          stream: event.streamtype as StreamType,
          id: event.streamid,
          event: event.type.replace(/^beamkeep\./, ""),
        });
        for (const listener of listeners.current) listener(event);
      }
    };
    const shared = new SharedFeed({
      name: `beamkeep-feed:${principal}:${service.surfaceId ?? ""}`,
      headers: () => service.headers(),
      heard,
      changed: setStatus,
      missed: () => void readAgain(),
      returned: () => void queries.invalidateQueries({ predicate: needsReading }),
    });
    feed.current = shared;
    return () => {
      shared.close();
      events.close();
      rows.close();
    };
  }, [principal, queries, service]);

  const heardAt = useCallback(() => feed.current?.heardAt ?? Date.now(), []);
  const reconnect = useCallback(() => feed.current?.reconnect(), []);
  const listen = useCallback((listener: Listener) => {
    listeners.current.add(listener);
    return () => void listeners.current.delete(listener);
  }, []);
  const value = useMemo(() => ({ status, heardAt, reconnect, listen }), [status, heardAt, reconnect, listen]);
  return <FeedContext value={value}>{children}</FeedContext>;
}
