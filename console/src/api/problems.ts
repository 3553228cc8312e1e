/** Refusals and failures of the service (RFC 9457). */
import type { Shape } from "./types";

/** What is known of an object that caused a refusal. */
export type Fact = Partial<Shape<"StartFact">> & Pick<Shape<"StartFact">, "name" | "state">;

interface ProblemBody {
  title?: string;
  detail?: string;
  code?: string;
  check?: string;
  facts?: Fact[];
  must_be?: string[];
  cleared_by?: string[];
  [extension: string]: unknown;
}

/** After these answers nobody knows whether the command had an effect. */
const UNKNOWN_CODES: readonly string[] = ["OutcomeUnknownError", "DeadlineExceededError"];
const DENIED_CODE = "UnauthorizedError";
const CHANGED_CODES: readonly string[] = ["ConcurrencyError", "PreconditionFailedError"];

/** A request that the service refused or could not answer. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;
  readonly body: ProblemBody;
  readonly correlationId: string | undefined;
  readonly retryAfter: number | undefined;

  constructor(status: number, body: ProblemBody, headers?: Headers) {
    super(body.detail ?? body.title ?? "The service did not answer.");
    this.status = status;
    this.body = body;
    this.correlationId = headers?.get("X-Correlation-Id") ?? undefined;
    const seconds = Number(headers?.get("Retry-After"));
    this.retryAfter = Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
  }

  get code(): string {
    return this.body.code ?? (this.status ? `HTTP ${this.status}` : "NetworkError");
  }
  get facts(): Fact[] {
    return this.body.facts ?? [];
  }
  get mustBe(): string[] {
    return this.body.must_be ?? [];
  }
  get clearedBy(): string[] {
    return this.body.cleared_by ?? [];
  }
  /** Whether a grant would help; who may do something by the rules of the domain cannot be granted. */
  get isDenied(): boolean {
    return this.status === 403 && (this.body.code ?? DENIED_CODE) === DENIED_CODE;
  }
  get isChanged(): boolean {
    return this.status === 412 || (this.status === 409 && CHANGED_CODES.includes(this.code));
  }
  /** Whether a command that got this answer may have had an effect. */
  get isOutcomeUnknown(): boolean {
    return this.status === 0 || UNKNOWN_CODES.includes(this.code);
  }
  /** Whether the same read may succeed in a moment. */
  get isTransient(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Return the problem that a response describes. */
export async function problemOf(response: Response): Promise<Problem> {
  let body: ProblemBody = {};
  try {
    body = (await response.json()) as ProblemBody;
  } catch {
    // A proxy answered, or nobody did: the status is all there is.
  }
  return new Problem(response.status, body, response.headers);
}

/** Return the problem of a request that got no response. */
export function unanswered(): Problem {
  return new Problem(0, { title: "The service did not answer.", detail: "The service did not answer." });
}
