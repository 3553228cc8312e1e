/** A form made from JSON Schemas. It checks nothing: the dry run does. */
import type { Schema } from "../api/catalogue.json";
import { fieldLabel } from "../text/fields";
import type { Pick } from "./ObjectPicker";
import type { DomainSchema, Schemas } from "./schemas";

import { Field, without, type Values } from "./SchemaField";

export interface SchemaFormProps {
  fields: Record<string, Schema>;
  required: readonly string[];
  schemas: Schemas;
  values: Values;
  change: (values: Values) => void;
  /** Finds objects for the fields that take an id. */
  pick: Pick;
  /** What is wrong with a field, by its name; `a.b` is a field within another. */
  wrong?: Readonly<Record<string, string>>;
  /** Fields that are not shown, because the action is about this object already. */
  hidden?: readonly string[];
  /** Schemas of the domain for fields that are plain JSON otherwise, such as parameters of a method. */
  domain?: Readonly<Record<string, DomainSchema>>;
}

/** Fields that hardly anybody fills in are folded. */
const RARE = new Set(["decided_by_decision_id", "external_refs", "raid"]);

/** Show a field for every property of a schema. */
export function SchemaForm({ fields, required, values, change, hidden = [], domain = {}, ...shared }: SchemaFormProps) {
  const names = Object.keys(fields).filter((name) => !hidden.includes(name));
  const rank = (name: string) => (required.includes(name) ? 0 : 1);
  names.sort((a, b) => rank(a) - rank(b));
  const rare = names.filter((name) => RARE.has(name) && !required.includes(name));
  const field = (name: string) => (
    <Field
      key={name}
      name={name}
      path={name}
      schema={domain[name] ?? fields[name] ?? {}}
      isRequired={required.includes(name)}
      value={values[name]}
      change={(value) => change(without({ ...values, [name]: value }))}
      {...shared}
    />
  );
  return (
    <div className="form">
      {names.filter((name) => !rare.includes(name)).map(field)}
      {rare.length > 0 && (
        <details className="wide" open={rare.some((name) => values[name] !== undefined) || undefined}>
          <summary className="dim sm">More fields: {rare.map(fieldLabel).join(", ").toLowerCase()}</summary>
          <div className="form more">{rare.map(field)}</div>
        </details>
      )}
    </div>
  );
}
