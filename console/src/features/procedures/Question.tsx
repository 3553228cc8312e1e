/** The question about steps whose outcome the service cannot know. No answer is preselected. */
import { Suspense, useMemo, useState } from "react";
import { useRead, type CommandName } from "../../api";
import { OperationForm } from "../../actions";
import { useMay } from "../../auth";
import { length, useNow, useZone } from "../../time";
import { Icon, Skeleton } from "../../ui";
import { addressOf, questionOf, stepText, valueText, type Activity, type Procedure, type RecipeStep } from "./steps";

type Choice = "skip" | "redo" | "wait";

interface Props {
  procedure: Procedure;
  etag: string | undefined;
  /** The command that continues the conduct, as the service names it. */
  operation: CommandName;
  endedAt: string | undefined;
  asked: readonly number[];
  steps: readonly RecipeStep[];
  last: ReadonlyMap<number, Activity>;
  activities: readonly Activity[];
}

export function Question({ procedure, etag, operation, endedAt, asked, steps, last, activities }: Props) {
  const [choices, setChoices] = useState<Record<number, Choice>>({});
  const may = useMay();
  const now = useNow(1000);
  const cautions = useRead("list_cautions", { target_id: [procedure.procedure_id, ...procedure.target_asset_ids], in_effect: true, limit: 5 });
  const isDecided = asked.every((index) => choices[index] === "skip" || choices[index] === "redo");
  const about = useMemo(
    () => ({
      procedure_id: procedure.procedure_id,
      skip_step_indexes: asked.filter((index) => choices[index] === "skip"),
      redo_step_indexes: asked.filter((index) => choices[index] === "redo"),
    }),
    [asked, choices, procedure.procedure_id],
  );
  const reason = may(operation).reason;
  return (
    <section className="panel question" aria-label="Question about a step in doubt">
      {asked.map((index) => {
        const step = steps[index];
        if (!step) return null;
        return (
          <Asked
            key={index}
            index={index}
            step={step}
            next={steps[index + 1]}
            sent={last.get(index)}
            reading={lastReading(activities, last.get(index))}
            choice={choices[index]}
            choose={(choice) => setChoices({ ...choices, [index]: choice })}
          />
        );
      })}
      <div className="sec">
        <ul className="evidence">
          {endedAt && (
            <li>
              <Icon name="clock" />
              <span>The conduct ended {length(now - Date.parse(endedAt))} ago. The procedure stays held until you choose.</span>
            </li>
          )}
          {(cautions.data?.items ?? []).map(({ caution_id, severity, text }) => (
            <li key={caution_id}>
              <Icon name="info" />
              <span>
                <b className="b">{severity}:</b> {text}
              </span>
            </li>
          ))}
        </ul>
      </div>
      <div className="sec stack">
        {isDecided ? (
          <Suspense fallback={<Skeleton what="the form" />}>
            <OperationForm
              operation={operation}
              about={about}
              name={procedure.name}
              etag={etag}
              confirmText={confirmTextOf(about.skip_step_indexes, about.redo_step_indexes)}
              isBare
            >
              {({ body, footer }) => (
                <>
                  {body}
                  <div className="row wrap">{footer}</div>
                </>
              )}
            </OperationForm>
          </Suspense>
        ) : (
          <p className="dim sm">
            {reason ?? (asked.length > 1 ? "Answer for every step. Then the dry run shows what follows." : "Choose an answer. Then the dry run shows what follows.")}
          </p>
        )}
      </div>
    </section>
  );
}

interface AskedProps {
  index: number;
  step: RecipeStep;
  next: RecipeStep | undefined;
  sent: Activity | undefined;
  reading: Activity | undefined;
  choice: Choice | undefined;
  choose: (choice: Choice) => void;
}

function Asked({ index, step, next, sent, reading, choice, choose }: AskedProps) {
  const zone = useZone();
  const number = index + 1;
  const hasFailed = sent?.stage === "Failed";
  const options: [Choice, string, string][] = [
    ["skip", `Yes. Skip step ${number} and continue`, `${next ? `Next: step ${number + 1}, ${stepText(next)}.` : "It is the last step."} The skip is recorded under your name.`],
    ["redo", `No. Run step ${number} now`, `${stepText(step)}, as attempt ${(sent?.attempt ?? 0) + 1}.`],
    ["wait", "I do not know yet", "The procedure stays held."],
  ];
  return (
    <>
      <header>
        <h2>
          <Icon name="unknown" className="unk" />
          {questionOf(step)}
        </h2>
      </header>
      <div className="sec stack">
        <p className="dim">
          {sent && `Step ${number} was sent at ${zone.time(sent.sampled_at)}. `}
          {hasFailed
            ? "It failed, and it is not known how far it came. Check the equipment, then choose."
            : "No outcome was recorded, so the service cannot know it. Check the equipment, then choose."}
        </p>
        <ul className="evidence">
          <li>
            <Icon name="asset" />
            <span>
              Target: <code>{addressOf(step)}</code>, not repeatable.
            </span>
          </li>
          {reading && (
            <li>
              <Icon name="run" />
              <span>
                Last reading before step {number}: <b className="b">{valueText(reading.detail.value)}</b>, step {(reading.step_index ?? 0) + 1}, {zone.time(reading.sampled_at)}.
              </span>
            </li>
          )}
        </ul>
        <fieldset className="answers">
          <legend className="hidden">{questionOf(step)}</legend>
          {options.map(([value, title, text]) => (
            <label key={value} className={choice === value ? "opt on" : "opt"}>
              <input type="radio" name={`step-${index}`} checked={choice === value} onChange={() => choose(value)} />
              <b>{title}</b>
              <span>{text}</span>
            </label>
          ))}
        </fieldset>
      </div>
    </>
  );
}

/** «Skip step 3 and continue», «Skip step 3, run step 5». */
function confirmTextOf(skipped: readonly number[], redone: readonly number[]): string {
  const [skip, redo] = [skipped, redone].map((indexes) => indexes.map((index) => index + 1).join(" and "));
  return [skip && `Skip step ${skip}${redo ? "" : " and continue"}`, redo && `${skip ? "run" : "Run"} step ${redo}${skip ? "" : " now"}`].filter(Boolean).join(", ");
}

/** Return the last activity with a value before a step was sent. */
function lastReading(activities: readonly Activity[], sent: Activity | undefined): Activity | undefined {
  if (!sent) return undefined;
  return activities.filter(({ sequence, detail }) => sequence < sent.sequence && detail.value !== undefined).at(-1);
}
