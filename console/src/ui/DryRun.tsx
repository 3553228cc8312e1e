import { Fragment } from "react";
import type { DryRunAnswer } from "../api/types";
import { fieldLabel } from "../text/fields";
import { withStepNumbers } from "../text/steps";
import { useZone } from "../time/zone";
import { Icon } from "./Icon";
import { Pair } from "./Pair";

const HIDDEN = new Set(["occurred_at"]);

/** Show the events that a command would write. */
export function DryRun({ answer, at }: { answer: DryRunAnswer; at: number }) {
  const zone = useZone();
  return (
    <div className="callout act" role="status">
      <div className="row sm">
        <Icon name="normal" />
        <b className="b">
          Dry run {zone.time(at)}: {answer.would_propose ? "needs approval" : "accepted"}
        </b>
        <span className="end dim">nothing written</span>
      </div>
      <dl className="kv sm planned">
        {answer.events.length === 0 && (
          <>
            <dt>Writes</dt>
            <dd>no event</dd>
          </>
        )}
        {answer.events.map(({ event_type, payload }, index) => (
          <Fragment key={`${event_type} ${index}`}>
            <Pair label={answer.would_propose ? "Proposes" : "Writes"}>{event_type}</Pair>
            {Object.entries(payload ?? {})
              .filter(([field, value]) => isShown(field, value))
              .map(([field, value]) => (
                <Pair key={field} label={fieldLabel(field)}>
                  {valueText(withStepNumbers(field, value))}
                </Pair>
              ))}
          </Fragment>
        ))}
        {answer.warnings?.map(({ path, rule }) => (
          <div key={path} className="pair">
            <dt className="warn">Warning</dt>
            <dd>
              {path}: {rule}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Ids, empty values and the time of the dry run say nothing to a person. */
function isShown(field: string, value: unknown): boolean {
  if (HIDDEN.has(field) || value === null || value === undefined) return false;
  if (typeof value === "string") return !UUID.test(value);
  return !(typeof value === "object" && Object.keys(value).length === 0);
}

function valueText(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) {
    const words = value.filter((each): each is string => typeof each === "string" && !UUID.test(each));
    if (value.every((each) => typeof each === "number")) return value.join(", ") || "none";
    return words.length === value.length ? words.join(", ") : `${value.length}`;
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return Object.entries(value)
    .filter(([field, each]) => isShown(field, each))
    .map(([field, each]) => `${fieldLabel(field).toLowerCase()} ${valueText(each)}`)
    .join(", ");
}
