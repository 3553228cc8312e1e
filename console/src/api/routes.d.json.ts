import type { OperationName, StreamType } from "./names";

/** A change of one axis that an operation makes. */
export interface Move {
  axis: string;
  from: string[];
  to: string;
  terminal: boolean;
  event: string;
}

/** Where an operation is called, and what it accepts in addition to its own fields. */
export interface Route {
  /** What a button says. */
  title: string;
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  aggregate: StreamType;
  names?: true;
  as_of?: true;
  min_token?: true;
  /** Whether nothing is asked for except the object itself. */
  bare?: true;
  /** Whether it ends or discards something for good, or removes access. */
  destructive?: true;
  moves?: Move[];
  /** The aggregates whose events make an answer outdated, in addition to its own. */
  composed_of?: string[];
}

declare const routes: Record<OperationName, Route>;
export default routes;
