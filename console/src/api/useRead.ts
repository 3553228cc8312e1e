/** The one hook that reads. */
import { keepPreviousData, QueryClient, useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useAsOf } from "../time/asOf";
import { useService, type Reading, type ServiceClient } from "./client";
import type { QueryName } from "./names";
import { Problem } from "./problems";
import { routes } from "./routes";
import type { Answer, Names, Parameters } from "./types";

/** A read and its state. */
export interface Read<T> {
  /** The answer, or undefined before the first one. */
  data: T | undefined;
  /** The version of the object that is shown, for If-Match. */
  etag: string | undefined;
  /** When the answer came, by the clock of the service, in milliseconds. */
  at: number | undefined;
  problem: Problem | undefined;
  /** Whether there is no answer yet. */
  isReading: boolean;
  /** Whether the answer is the state at the time that the time bar shows. */
  isPast: boolean;
  again: () => void;
}

export interface ReadOptions {
  /** Read only when this is true (default: true). */
  when?: boolean;
  /** Show the last answer while another one is read. */
  keep?: boolean;
  /** Ignore the time bar and read the current state. */
  current?: boolean;
}

/** Read an operation by its name; the feed keeps the answer current. */
export function useRead<O extends QueryName>(operation: O, parameters: Parameters<O>, { when = true, keep = false, current = false }: ReadOptions = {}): Read<Answer<O>> {
  const service = useService();
  const { asOf } = useAsOf();
  const isPast = asOf !== undefined && !current && routes[operation].as_of === true;
  const asked = isPast ? { ...parameters, as_of: asOf } : parameters;
  const query = useQuery<Reading<Answer<O>>>({
    queryKey: [operation, asked, service.surfaceId ?? null],
    queryFn: ({ signal }) => service.read(operation, asked, signal),
    enabled: when,
    ...(keep && { placeholderData: keepPreviousData }),
  });
  return readOf(query, when, isPast);
}

/** Read an operation once for each of several objects, as it is now or as of a time that is asked for. */
export function useReads<O extends QueryName>(operation: O, asked: readonly Parameters<O>[]): Read<Answer<O>>[] {
  const service = useService();
  const queries = useQueries({
    queries: asked.map((parameters) => ({
      queryKey: [operation, parameters, service.surfaceId ?? null],
      queryFn: ({ signal }: { signal: AbortSignal }) => service.read(operation, parameters, signal),
    })),
  });
  return queries.map((query) => readOf(query, true, false));
}

const AGAIN_MS = 5000;
const PAGE = 100;
const MOST_PAGES = 20;

/** The reads whose answers are pages. */
export type PagedName = { [O in QueryName]: Answer<O> extends { items: unknown[]; next_cursor: string | null } ? O : never }[QueryName];

/** Read all pages of a list as one; its `next_cursor` is set when there are still more rows. */
export function useAllPages<O extends PagedName>(operation: O, parameters: Parameters<O>, { when = true }: Pick<ReadOptions, "when"> = {}): Read<Answer<O>> {
  const service = useService();
  const query = useQuery<Reading<Answer<O>>>({
    queryKey: [operation, parameters, service.surfaceId ?? null, "all pages"],
    queryFn: ({ signal }) => readAll(service, operation, parameters, signal),
    enabled: when,
    // The last rows stay while those of another object, or one more, are read.
    placeholderData: keepPreviousData,
  });
  return readOf(query, when, false);
}

async function readAll<O extends PagedName>(service: ServiceClient, operation: O, parameters: Parameters<O>, signal: AbortSignal): Promise<Reading<Answer<O>>> {
  type Page = { items: unknown[]; next_cursor: string | null; names?: Names };
  const first = await service.read(operation, { ...parameters, limit: PAGE }, signal);
  const all: Page = { ...(first.answer as Page) };
  for (let page = 1; all.next_cursor !== null && page < MOST_PAGES; page += 1) {
    const next = (await service.read(operation, { ...parameters, limit: PAGE, cursor: all.next_cursor }, signal)).answer as Page;
    all.items = [...all.items, ...next.items];
    all.names = { ...all.names, ...next.names };
    all.next_cursor = next.next_cursor;
  }
  return { ...first, answer: all as Answer<O> };
}

function readOf<T>(query: UseQueryResult<Reading<T>>, when: boolean, isPast: boolean): Read<T> {
  return {
    data: query.data?.answer,
    etag: query.data?.etag,
    at: query.data?.at,
    problem: query.error instanceof Problem ? query.error : undefined,
    isReading: query.data === undefined && !query.error && when,
    isPast,
    again: () => void query.refetch(),
  };
}

/** Return the names that came with an answer, by id. */
export function namesIn(answer: { names?: Names } | undefined): Names {
  return answer?.names ?? {};
}

/** Return a cache in which answers stay valid until the feed says otherwise. */
export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: Infinity,
        gcTime: 5 * 60_000,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        // A read that failed is tried again; no event may come that would ask for it.
        refetchInterval: ({ state }) => (state.error instanceof Problem && state.error.isTransient ? AGAIN_MS : false),
        retry: (failures, error) => failures < 1 && error instanceof Problem && error.isTransient,
        retryDelay: (_, error) => (error instanceof Problem && error.retryAfter ? error.retryAfter * 1000 : 500),
      },
    },
  });
}
