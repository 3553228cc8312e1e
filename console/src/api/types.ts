/** Types of requests and answers by the name of the operation. */
import type { CommandName, OperationName, QueryName } from "./names";
import type { components, operations } from "./schema";

type Part<T, K extends string> = T extends Record<K, infer P> ? P : unknown;
type Optional<T, K extends string> = T extends { [key in K]?: infer P } ? NonNullable<P> : unknown;
type Flat<T> = T extends object ? { [K in keyof T]: T[K] } : T;
type Json<T> = T extends { content: { "application/json": infer A } } ? A : never;
type Asked<O extends OperationName> = operations[O]["parameters"];
type Body<O extends OperationName> = operations[O] extends { requestBody?: infer B }
  ? NonNullable<B> extends { content: { "application/json": infer J } }
    ? J
    : unknown
  : unknown;

/** The parameters of a query: those of the path and those after the question mark. */
export type Parameters<O extends QueryName> = Flat<Part<Asked<O>, "path"> & Omit<Optional<Asked<O>, "query">, "names" | "min_token">>;
/** The answer of a query. */
export type Answer<O extends QueryName> = operations[O] extends { responses: { 200: infer R } } ? Json<R> : never;
/** The fields of a command: those of the path and those of the body. */
export type Arguments<O extends CommandName> = Flat<Part<Asked<O>, "path"> & Body<O>>;

/** A schema of the service by its name. */
export type Shape<N extends keyof components["schemas"]> = components["schemas"][N];

/** The name of an object whose id is in an answer. */
export interface NamedObject {
  kind: string;
  name: string;
  status: string | null;
  link: string;
}
/** The names of the objects of an answer, by id. */
export type Names = Record<string, NamedObject>;

/** An event of the feed and of `list_events`. */
export type FeedEvent = Answer<"list_events">["items"][number];
/** An event of a history. */
export type RecordedEvent = Shape<"RecordedEvent">;

/** An event that a command would write. */
export interface PlannedEvent {
  event_type: string;
  payload: Record<string, unknown> | null;
}
export interface FieldWarning {
  path: string;
  rule: string;
}
/** The answer of a dry run that was not refused. */
export interface DryRunAnswer {
  events: PlannedEvent[];
  warnings?: FieldWarning[];
  would_propose?: true;
}
