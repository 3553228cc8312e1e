/** A query as a form; its answer is a table. */
import { useState } from "react";
import { namesIn, useRead, type Names, type QueryName } from "../../api";
import { useCatalogue } from "../../api/useCatalogue";
import { usePick } from "../../actions";
import { fieldLabel, kindOfField } from "../../text";
import { ActionButton, CopyButton, DataTable, Failure, ObjectName, Pair, SchemaForm, Skeleton, StateMark, Timestamp, type Values } from "../../ui";

/** Parameters that the console gives by itself. */
const OWN = ["names", "min_token", "as_of"];
const MOST_COLUMNS = 7;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

type Row = Record<string, unknown>;

export function QueryForm({ operation, initial }: { operation: QueryName; initial: Values }) {
  const { operations, schemas } = useCatalogue();
  const { fields, required, commandLine } = operations[operation];
  const [values, setValues] = useState<Values>(initial);
  const [asked, setAsked] = useState<Values | undefined>(required.length === 0 ? initial : undefined);
  const pick = usePick();
  const read = useRead(operation, (asked ?? {}) as never, { when: asked !== undefined });
  const missing = required.filter((field) => values[field] === undefined);
  const answer = read.data as Row | undefined;
  // What was asked before is asked again, and not taken from what the page remembers.
  const ask = () => (JSON.stringify(asked) === JSON.stringify(values) ? read.again() : setAsked(values));
  return (
    <div className="query">
      <SchemaForm fields={fields} required={required} schemas={schemas} values={values} change={setValues} pick={pick} hidden={OWN} />
      <div className="row wrap">
        <ActionButton look="main" press={ask} reason={missing.length > 0 ? `Missing: ${missing.map(fieldLabel).join(", ")}` : undefined}>
          Read
        </ActionButton>
        {commandLine && <CopyButton text={lineOf(commandLine, values)}>Copy command line</CopyButton>}
        {answer && <CopyButton text={JSON.stringify(answer, null, 2)}>Copy JSON</CopyButton>}
      </div>
      {read.problem && <Failure problem={read.problem} what={operation} operation={operation} again={read.again} />}
      {read.isReading && <Skeleton what="the answer" />}
      {answer && <Shown answer={answer} names={namesIn(answer as { names?: Names })} />}
    </div>
  );
}

/** Return a command line that asks the same. */
function lineOf(commandLine: string, values: Values): string {
  const options = Object.entries(values).flatMap(([name, value]) =>
    (Array.isArray(value) ? (value as unknown[]) : [value]).map((each) => {
      const text = typeof each === "string" ? each : JSON.stringify(each);
      const quoted = /^[\w.:@/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
      return `--${name.replaceAll("_", "-")} ${quoted}`;
    }),
  );
  return ["beamkeep", commandLine, ...options].join(" ");
}

function Shown({ answer, names }: { answer: Row; names: Names }) {
  const { items } = answer;
  if (Array.isArray(items)) return <Rows rows={items as Row[]} names={names} />;
  return (
    <dl className="kv">
      {Object.entries(answer)
        .filter(([field]) => !field.startsWith("names"))
        .map(([field, value]) => (
          <Pair key={field} label={fieldLabel(field)}>
            <Value field={field} value={value} names={names} />
          </Pair>
        ))}
    </dl>
  );
}

function Rows({ rows, names }: { rows: Row[]; names: Names }) {
  const rank = (field: string) => (/^(name|title)$/.test(field) ? 0 : /status|state|lifecycle|condition/.test(field) ? 1 : /_at$|time$/.test(field) ? 2 : 3);
  const fields = Object.keys(rows[0] ?? {})
    .filter((field) => rows.some((row) => isPlain(row[field])))
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, MOST_COLUMNS);
  return (
    <div className="scroll">
      <DataTable<{ row: Row; index: number }>
        label="Answer"
        rows={rows.map((row, index) => ({ row, index }))}
        rowKey={({ index }) => String(index)}
        empty={<p>Nothing was found.</p>}
        columns={fields.map((field) => ({
          key: field,
          title: fieldLabel(field),
          cell: ({ row }) => <Value field={field} value={row[field]} names={names} />,
          sort: ({ row }) => {
            const value = row[field];
            return typeof value === "number" ? value : typeof value === "string" ? value : null;
          },
        }))}
      />
    </div>
  );
}

const isPlain = (value: unknown) => value !== null && ["string", "number", "boolean"].includes(typeof value);

function Value({ field, value, names }: { field: string; value: unknown; names: Names }) {
  if (value === null || value === undefined) return <span className="faint">none</span>;
  if (typeof value === "string") {
    if (UUID.test(value)) return <ObjectName id={value} names={names} kind={names[value]?.kind ?? (kindOfField(field) || undefined)} />;
    if (TIME.test(value)) return <Timestamp at={value} />;
    if (/status|lifecycle|condition|outcome|verdict/.test(field)) return <StateMark state={value} />;
    return <span className="cut-text">{value}</span>;
  }
  if (typeof value === "number" || typeof value === "boolean") return <>{String(value)}</>;
  return <code className="cut-text">{JSON.stringify(value)}</code>;
}
