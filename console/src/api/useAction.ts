/** The one hook that writes. */
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import { affectedByCommand } from "./invalidation";
import { newKey, useService, type SendOptions, type Sent } from "./client";
import type { CommandName } from "./names";
import { Problem } from "./problems";
import { routes } from "./routes";
import type { Arguments, DryRunAnswer } from "./types";

/** How far an action is. */
export type ActionState =
  | { phase: "idle" }
  | { phase: "checking" }
  | { phase: "accepted"; dryRun: DryRunAnswer; at: number }
  | { phase: "refused"; problem: Problem; at: number; isDryRun: boolean }
  | { phase: "sending" }
  | { phase: "waiting"; seconds: number }
  | { phase: "unknown"; problem: Problem }
  | { phase: "done"; sent: Sent }
  | { phase: "proposed"; proposalId: string };

export interface Action<O extends CommandName> {
  state: ActionState;
  /** Ask which events the command would write. */
  dryRun: (values: Arguments<O>) => Promise<void>;
  /** Send the command; a repeat after an unknown outcome uses the same key. */
  send: (values: Arguments<O>, options?: { etag?: string | undefined; note?: string | undefined }) => Promise<void>;
  /** Begin again, with a new key. */
  reset: () => void;
}

/** A command as it was sent first. */
interface Attempt<O extends CommandName> {
  values: Arguments<O>;
  options: SendOptions;
}

const wait = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Return the dry run and the sending of a command by its name. */
export function useAction<O extends CommandName>(operation: O): Action<O> {
  const service = useService();
  const queries = useQueryClient();
  const [state, setState] = useState<ActionState>({ phase: "idle" });
  const attempted = useRef<Attempt<O>>(undefined);
  const check = useRef<AbortController>(undefined);

  const dryRun = useCallback(
    async (values: Arguments<O>) => {
      check.current?.abort();
      const own = (check.current = new AbortController());
      setState({ phase: "checking" });
      try {
        const answer = await service.dryRun(operation, values, own.signal);
        if (!own.signal.aborted) setState({ phase: "accepted", dryRun: answer, at: service.clock.now() });
      } catch (error) {
        if (own.signal.aborted || !(error instanceof Problem)) return;
        setState({ phase: "refused", problem: error, at: service.clock.now(), isDryRun: true });
      }
    },
    [operation, service],
  );

  const send = useCallback(
    async (values: Arguments<O>, options: { etag?: string | undefined; note?: string | undefined } = {}) => {
      check.current?.abort();
      // The version that is shown may be newer by now; a repeat is the same command nevertheless.
      const attempt = (attempted.current ??= { values, options: { ...options, key: newKey() } });
      setState({ phase: "sending" });
      for (let waits = 0; ; waits += 1) {
        try {
          const sent = await service.send(operation, attempt.values, attempt.options);
          attempted.current = undefined;
          const affected = affectedByCommand(routes[operation].aggregate);
          void queries.invalidateQueries({ predicate: (query) => affected.has(String(query.queryKey[0])) });
          if (sent.proposalId) setState({ phase: "proposed", proposalId: sent.proposalId });
          else setState({ phase: "done", sent });
          return;
        } catch (error) {
          if (!(error instanceof Problem)) throw error;
          if (error.status === 429 && waits === 0) {
            const seconds = error.retryAfter ?? 1;
            setState({ phase: "waiting", seconds });
            await wait(seconds);
            continue;
          }
          if (error.isOutcomeUnknown) setState({ phase: "unknown", problem: error });
          else {
            // The service decided: another attempt is another command.
            attempted.current = undefined;
            setState({ phase: "refused", problem: error, at: service.clock.now(), isDryRun: false });
          }
          return;
        }
      }
    },
    [operation, queries, service],
  );

  const reset = useCallback(() => {
    check.current?.abort();
    attempted.current = undefined;
    setState({ phase: "idle" });
  }, []);

  return { state, dryRun, send, reset };
}
