import type { Names } from "../../api";
import { fieldLabel, number, stateText } from "../../text";
import { ObjectName } from "../../ui";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Return what was decided: «Run supervision: hold». */
export function decisionTitle({ context, choice }: { context: string; choice: string }): string {
  return `${stateText(context)}: ${stateText(choice).toLowerCase()}`;
}

/** Show a value of a command or of a decision as people read it. */
export function ShownValue({ value, names }: { value: unknown; names: Names }) {
  if (typeof value === "number") return <>{number(value)}</>;
  if (typeof value === "string") return UUID.test(value) ? <ObjectName id={value} names={names} plain /> : <>{value}</>;
  if (typeof value !== "object" || value === null) return <>{JSON.stringify(value)}</>;
  if (Array.isArray(value) && value.length === 0) return <>none</>;
  const parts = Array.isArray(value)
    ? (value as unknown[]).map((each) => ["", each] as const)
    : Object.entries(value).flatMap(([field, each]: [string, unknown]) => (isNothing(each, names) ? [] : [[`${fieldLabel(field).toLowerCase()} `, each] as const]));
  return (
    <>
      {parts.map(([label, each], index) => (
        <span key={index}>
          {index > 0 && ", "}
          {label}
          <ShownValue value={each} names={names} />
        </span>
      ))}
    </>
  );
}

/** Whether a value within another one says nothing to people: no value, or the id of something without a name. */
function isNothing(value: unknown, names: Names): boolean {
  if (typeof value === "string") return UUID.test(value) && !names[value];
  return value === null || (typeof value === "object" && Object.keys(value as object).length === 0);
}
