/** One way to call the service: by the name of an operation. */
import { createContext, useContext } from "react";
import type { ServiceClock } from "../time/clock";
import type { OpenApiDocument } from "./describing";
import type { CommandName, OperationName, QueryName } from "./names";
import { problemOf, unanswered } from "./problems";
import { routes } from "./routes";
import type { Answer, Arguments, DryRunAnswer, Parameters } from "./types";

const IN_FLIGHT = 4;

/** The answer of a query with the version of the object and the time of the answer. */
export interface Reading<T> {
  answer: T;
  etag: string | undefined;
  at: number;
}

export interface SendOptions {
  key: string;
  etag?: string | undefined;
  /** Propose the command, and tell the approver this. */
  note?: string | undefined;
}

/** What a command that was not refused has done. */
export interface Sent {
  answer: Record<string, unknown>;
  proposalId: string | undefined;
  etag: string | undefined;
  positionToken: string | undefined;
}

type Values = Record<string, unknown>;

/** Return the address of an operation, and the arguments that are not part of it. */
export function addressOf(operation: OperationName, values: Values): [string, Values] {
  const rest = { ...values };
  const path = routes[operation].path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name];
    Reflect.deleteProperty(rest, name);
    return encodeURIComponent(typeof value === "string" || typeof value === "number" ? value : "");
  });
  return [path, rest];
}

/** Return query parameters, those with several values repeated. */
export function queryOf(values: Values): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value])
      if (typeof each === "string" || typeof each === "number" || typeof each === "boolean") query.append(name, String(each));
  }
  const text = query.toString();
  return text && `?${text}`;
}

/** Return a new idempotency key; `crypto.randomUUID` needs HTTPS and is not used. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A place in the log: a transaction, and an event of it. */
type Position = readonly [transaction: bigint, event: bigint];

function positionOf(token: string | undefined): Position | undefined {
  const [, transaction, event] = /^(\d+)-(\d+)$/.exec(token ?? "") ?? [];
  return transaction && event ? [BigInt(transaction), BigInt(event)] : undefined;
}

const isAfter = (one: Position, other: Position) => one[0] > other[0] || (one[0] === other[0] && one[1] > other[1]);

/** Calls the service as one person at one surface. */
export class ServiceClient {
  /** The newest position of the log that was seen: reads include everything up to it. */
  private newest: Position | undefined;
  private free = IN_FLIGHT;
  private readonly waiting: (() => void)[] = [];

  constructor(
    private readonly token: () => string | undefined,
    readonly surfaceId: string | undefined,
    readonly clock: ServiceClock,
    readonly denied: (status: number, path: string) => void = () => undefined,
  ) {}

  /** Remember a position that following reads must include. */
  saw(positionToken: string | undefined): void {
    const seen = positionOf(positionToken);
    if (seen && (!this.newest || isAfter(seen, this.newest))) this.newest = seen;
  }

  headers(): Headers {
    const headers = new Headers();
    const token = this.token();
    if (token) headers.set("Authorization", `Bearer ${token}`);
    if (this.surfaceId) headers.set("X-Surface-Id", this.surfaceId);
    return headers;
  }

  /** Answer a query. Throw a Problem when it is refused. */
  async read<O extends QueryName>(operation: O, parameters: Parameters<O>, signal?: AbortSignal): Promise<Reading<Answer<O>>> {
    const [path, rest] = addressOf(operation, parameters as Values);
    const { names, min_token } = routes[operation];
    const asked: Values = { ...rest, ...(names && { names: true }) };
    await this.take();
    try {
      if (min_token && this.newest) asked.min_token = this.newest.join("-");
      const response = await this.fetch(path + queryOf(asked), { signal });
      const etag = response.headers.get("ETag") ?? undefined;
      return { answer: (await response.json()) as Answer<O>, etag, at: this.clock.now() };
    } finally {
      this.release();
    }
  }

  /** Return the events that a command would write. Throw a Problem when it would be refused. */
  async dryRun<O extends CommandName>(operation: O, values: Arguments<O>, signal?: AbortSignal): Promise<DryRunAnswer> {
    const response = await this.command(operation, values as Values, "?dry_run=true", new Headers(), signal);
    return (await response.json()) as DryRunAnswer;
  }

  /** Send a command. Throw a Problem when it is refused or when its outcome is unknown. */
  async send<O extends CommandName>(operation: O, values: Arguments<O>, options: SendOptions): Promise<Sent> {
    const headers = new Headers({ "Idempotency-Key": options.key });
    if (options.etag) headers.set("If-Match", options.etag);
    if (options.note) headers.set("Proposal-Note", encodeURIComponent(options.note));
    const response = await this.command(operation, values as Values, "", headers);
    const text = await response.text();
    const answer = (text ? JSON.parse(text) : {}) as Record<string, unknown>;
    const positionToken = response.headers.get("Position-Token") ?? undefined;
    this.saw(positionToken);
    const isProposed = response.status === 202 && typeof answer.proposal_id === "string";
    const proposalId = isProposed ? String(answer.proposal_id) : undefined;
    return { answer, proposalId, etag: response.headers.get("ETag") ?? undefined, positionToken };
  }

  /** Return the OpenAPI document of the service. */
  async document(signal: AbortSignal): Promise<OpenApiDocument> {
    return (await (await this.fetch("/openapi.json", { signal })).json()) as OpenApiDocument;
  }

  private command(operation: CommandName, values: Values, query: string, headers: Headers, signal?: AbortSignal): Promise<Response> {
    const [path, body] = addressOf(operation, values);
    const init: RequestInit = { method: routes[operation].method, headers, signal };
    if (Object.keys(body).length > 0) {
      headers.set("Content-Type", "application/json");
      init.body = JSON.stringify(body);
    }
    return this.fetch(path + query, init);
  }

  /** Fetch a path of the service. Throw a Problem unless it succeeds. */
  private async fetch(path: string, init: RequestInit): Promise<Response> {
    const headers = this.headers();
    new Headers(init.headers).forEach((value, name) => headers.set(name, value));
    let response: Response;
    try {
      response = await fetch(path, { ...init, headers, cache: "no-store", redirect: "error" });
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw unanswered();
    }
    this.clock.heard(response.headers.get("Date"));
    if (response.ok) return response;
    if (response.status === 401 || response.status === 403) this.denied(response.status, path);
    throw await problemOf(response);
  }

  private async take(): Promise<void> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
  }
  private release(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.free += 1;
  }
}

export const ServiceContext = createContext<ServiceClient | undefined>(undefined);

/** Return the client of the signed-in person. */
export function useService(): ServiceClient {
  const service = useContext(ServiceContext);
  if (!service) throw new Error("This component is shown outside the signed-in part of the console.");
  return service;
}
