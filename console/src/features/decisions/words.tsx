import type { ReactNode } from "react";
import type { Names } from "../../api";
import { fieldLabel, number, stateText } from "../../text";
import { ObjectName } from "../../ui";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Return what was decided: «Run supervision: hold». */
export function decisionTitle({ context, choice }: { context: string; choice: string }): string {
  return `${stateText(context)}: ${stateText(choice).toLowerCase()}`;
}

/** Return a value of a command or of a decision as people read it. */
export function shownValue(value: unknown, names: Names): ReactNode {
  if (typeof value === "number") return number(value);
  if (typeof value === "string") return UUID.test(value) ? <ObjectName id={value} names={names} plain /> : value;
  if (Array.isArray(value)) {
    const items = value as unknown[];
    if (items.length === 0) return "none";
    return items.map((each, index) => (
      <span key={index}>
        {index > 0 && ", "}
        {shownValue(each, names)}
      </span>
    ));
  }
  if (typeof value === "object" && value !== null)
    return Object.entries(value)
      .filter(([, each]) => !isNothing(each, names))
      .map(([field, each], index) => (
        <span key={field}>
          {index > 0 && ", "}
          {fieldLabel(field).toLowerCase()} {shownValue(each, names)}
        </span>
      ));
  return JSON.stringify(value);
}

/** Whether a value within another one says nothing to people: no value, or the id of something without a name. */
function isNothing(value: unknown, names: Names): boolean {
  if (typeof value === "string") return UUID.test(value) && !names[value];
  return value === null || (typeof value === "object" && Object.keys(value as object).length === 0);
}
