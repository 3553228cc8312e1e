/** The datasets that used a revision, to choose from and to demote. */
import { useId, useState } from "react";
import type { Names } from "../../api";
import { useMay } from "../../auth";
import { bytes, plural, stateText } from "../../text";
import { useAsOf } from "../../time";
import { ActionButton, Callout, ObjectName, StateMark } from "../../ui";
import type { Dataset } from "./impactGraph";
import { useDemotions, type Progress } from "./useDemotions";

interface RetractProps {
  datasets: readonly Dataset[];
  names: Names;
  isMore: boolean;
  isWrong: boolean;
  focused: string | undefined;
  focus: (id: string) => void;
}

/** Choose datasets and demote them one by one; the first refusal ends it. */
export function Retract({ datasets, names, isMore, isWrong, focused, focus }: RetractProps) {
  const may = useMay();
  const { asOf } = useAsOf();
  const offerFor = (dataset: Dataset) => may("demote_dataset", { intent: dataset.intent });
  const [without, setWithout] = useState<ReadonlySet<string>>(new Set());
  const [reason, setReason] = useState("");
  const field = useId();
  const offered = datasets.filter((dataset) => isWrong && offerFor(dataset).isEnabled);
  const chosen = offered.filter(({ dataset_id }) => !without.has(dataset_id));
  const { progress, send } = useDemotions(chosen, reason.trim());
  const isBusy = progress?.phase === "checking" || progress?.phase === "sending";
  const permitted = may("demote_dataset");
  const why = !permitted.isEnabled
    ? permitted.reason
    : chosen.length === 0
      ? "No dataset is chosen"
      : !reason.trim()
        ? "Missing: Reason"
        : progress?.refused
          ? "A dry run was refused"
          : undefined;
  return (
    <>
      <div className="scroll grow">
        {datasets.length === 0 && <p className="pad dim">No dataset used this revision.</p>}
        <table className="retract" aria-label="Datasets that used the revision">
          <tbody>
            {datasets.map((dataset) => {
              const offer = offerFor(dataset);
              const isOffered = isWrong && offer.isEnabled;
              return (
                <tr key={dataset.dataset_id} className={dataset.dataset_id === focused ? "sel" : ""} onMouseEnter={() => focus(dataset.dataset_id)}>
                  <td>
                    <input
                      type="checkbox"
                      aria-label={`Demote ${dataset.name}`}
                      checked={isOffered && !without.has(dataset.dataset_id)}
                      disabled={!isOffered}
                      title={isOffered ? undefined : offer.reason}
                      onFocus={() => focus(dataset.dataset_id)}
                      onChange={(event) => {
                        const next = new Set(without);
                        if (event.target.checked) next.delete(dataset.dataset_id);
                        else next.add(dataset.dataset_id);
                        setWithout(next);
                      }}
                    />
                  </td>
                  <td>
                    <ObjectName id={dataset.dataset_id} name={dataset.name} kind="Dataset" plain />
                    <div className="dim xs cut">{dataset.producing_run_id ? (names[dataset.producing_run_id]?.name ?? "run (no access)") : "no run"}</div>
                  </td>
                  <td className="r dim nowrap">{bytes(dataset.byte_size)}</td>
                  <td className="nowrap">
                    {dataset.intent === "Retracted" || !isWrong ? (
                      <span className="dim">{stateText(dataset.intent)}</span>
                    ) : (
                      <StateMark mark="blocks">{stateText(dataset.intent)}</StateMark>
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
        {isMore && <p className="pad dim sm">The first {datasets.length} datasets are shown. Demote them, then the next ones follow.</p>}
      </div>
      {isWrong && !asOf && datasets.length > 0 && (
        <div className="retract-foot">
          {offered.length > 0 && (
            <div className="field">
              <label htmlFor={field}>Reason (stored with each dataset)</label>
              <textarea id={field} className="in" value={reason} onChange={(event) => setReason(event.target.value)} />
            </div>
          )}
          {progress && <DemotionProgress progress={progress} count={chosen.length} />}
          <div className="row wrap">
            <ActionButton look="terminal" press={() => void send()} reason={offered.length === 0 && permitted.isEnabled ? "No dataset can be demoted" : why} isBusy={isBusy}>
              {permitted.verdict === "proposable" ? "Propose to demote" : "Demote"} {plural(chosen.length, "dataset")}
              {permitted.verdict === "permitted" && " permanently"}
            </ActionButton>
          </div>
        </div>
      )}
    </>
  );
}

function DemotionProgress({ progress, count }: { progress: Progress; count: number }) {
  const { phase, done, proposed, refused } = progress;
  if (refused)
    return (
      <Callout
        mark={refused.problem.isOutcomeUnknown && phase === "ended" ? "unknown" : "blocks"}
        title={`${refused.name}: ${refused.problem.body.title ?? refused.problem.message}`}
      >
        {phase === "ended" ? `${done} of ${count} demoted before this. The others are unchanged.` : `Dry run: ${done} of ${count} accepted. Nothing written.`}{" "}
        <code>{refused.problem.code}</code>
      </Callout>
    );
  if (phase === "checking") return <p className="dim sm">Dry run of {plural(count, "dataset")}…</p>;
  if (phase === "sending") return <p className="dim sm">{`${done} of ${count} demoted…`}</p>;
  if (phase === "ended") return <Callout mark="done" title={proposed > 0 ? `${plural(proposed, "proposal")} waiting for approval` : `${plural(done, "dataset")} demoted`} />;
  return (
    <Callout mark="progress" icon="normal" title={`Dry run: ${done} of ${count} accepted`}>
      Writes DatasetDemoted {count === 1 ? "once" : `${count} times`}. Datasets downstream are not changed.
    </Callout>
  );
}
