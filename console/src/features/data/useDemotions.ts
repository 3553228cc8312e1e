/** The demotion of several datasets, one by one; the first refusal ends it. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { newKey, Problem, useService } from "../../api";
import { affectedBy } from "../../api/invalidation";
import { announce } from "../../view";
import type { Dataset } from "./impactGraph";

/** What the dry runs, or the commands, of several datasets have answered. */
export interface Progress {
  phase: "checking" | "checked" | "sending" | "ended";
  done: number;
  proposed: number;
  refused: { name: string; problem: Problem } | undefined;
}

const DRY_RUN_MS = 250;

/** Return the dry runs of the demotion of several datasets, and a function that carries them out. */
export function useDemotions(chosen: readonly Dataset[], reason: string): { progress: Progress | undefined; send: () => Promise<void> } {
  const service = useService();
  const queries = useQueryClient();
  const [progress, setProgress] = useState<Progress>();
  const ids = chosen.map(({ dataset_id }) => dataset_id).join(" ");

  useEffect(() => {
    if (!reason || !ids) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      void (async () => {
        setProgress({ phase: "checking", done: 0, proposed: 0, refused: undefined });
        let done = 0;
        for (const dataset_id of ids.split(" ")) {
          try {
            await service.dryRun("demote_dataset", { dataset_id, reason }, stop.signal);
            done += 1;
          } catch (error) {
            if (stop.signal.aborted || !(error instanceof Problem)) return;
            const name = chosen.find((dataset) => dataset.dataset_id === dataset_id)?.name ?? "dataset";
            setProgress({ phase: "checked", done, proposed: 0, refused: { name, problem: error } });
            return;
          }
        }
        if (!stop.signal.aborted) setProgress({ phase: "checked", done, proposed: 0, refused: undefined });
      })();
    }, DRY_RUN_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
    // The names belong to the ids.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [ids, reason, service]);

  const send = async () => {
    if (progress?.phase !== "checked" || progress.refused) return;
    let [done, proposed] = [0, 0];
    const tell = (phase: Progress["phase"], refused?: Progress["refused"]) => setProgress({ phase, done, proposed, refused });
    tell("sending");
    for (const { dataset_id, name } of chosen) {
      try {
        const sent = await service.send("demote_dataset", { dataset_id, reason }, { key: newKey() });
        if (sent.proposalId) proposed += 1;
        else done += 1;
        tell("sending");
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        tell("ended", { name, problem: error });
        break;
      }
    }
    if (done + proposed === chosen.length) tell("ended");
    announce(`${done} of ${chosen.length} datasets demoted.`);
    const affected = affectedBy("Dataset");
    await queries.invalidateQueries({ predicate: ({ queryKey }) => affected.has(String(queryKey[0])) });
  };
  return { progress, send };
}
