/** A form made from JSON Schemas. It checks nothing: the dry run does. */
import { useId, useState, type ReactNode } from "react";
import type { Schema } from "../api/catalogue.json";
import { fieldLabel } from "../text/fields";
import { stateText } from "../text/states";
import { holdsSteps, stepIndex, withStepNumbers } from "../text/steps";
import { unitSymbol } from "../text/units";
import { useZone } from "../time/zone";
import { Icon } from "./Icon";
import { ObjectPicker, type Pick } from "./ObjectPicker";
import { blank, controlOf, plain, unasked, type Control, type DomainSchema, type Schemas } from "./schemas";

export type Values = Record<string, unknown>;

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

/** Leave out what was not given. */
function without(values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

interface FieldProps {
  name: string;
  path: string;
  schema: Schema;
  isRequired: boolean;
  value: unknown;
  change: (value: unknown) => void;
  schemas: Schemas;
  pick: Pick;
  wrong?: Readonly<Record<string, string>>;
  label?: string;
}

function Field(props: FieldProps) {
  const { name, path, schema, isRequired, schemas, wrong = {} } = props;
  const id = useId();
  const control = controlOf(name, schema, schemas);
  const { description } = plain(schema, schemas);
  const label = props.label ?? fieldLabel(name);
  const problem = wrong[path];
  const isGrouped = ["group", "list", "map", "choices", "one of"].includes(control.shows);
  const described = problem ? `${id}-wrong` : description ? `${id}-hint` : undefined;
  if (control.shows === "fixed") return null;
  const heading = (
    <>
      {label}
      {!isRequired && <em>optional</em>}
    </>
  );
  const below = (
    <>
      {description && (
        <span className="hint" id={`${id}-hint`}>
          {description}
        </span>
      )}
      {problem && (
        <span className="wrong" id={`${id}-wrong`}>
          {problem}
        </span>
      )}
    </>
  );
  if (isGrouped)
    return (
      <fieldset className="field wide" data-field={name} data-control={control.shows} aria-describedby={described}>
        <legend className="label">{heading}</legend>
        <Input {...props} control={control} id={id} described={described} />
        {below}
      </fieldset>
    );
  return (
    <div className={control.shows === "json" || (control.shows === "text" && control.isLong) ? "field wide" : "field"} data-field={name} data-control={control.shows}>
      <label htmlFor={id}>{heading}</label>
      <Input {...props} control={control} id={id} described={described} />
      {below}
    </div>
  );
}

interface InputProps extends FieldProps {
  control: Control;
  id: string;
  described: string | undefined;
}

function Input(props: InputProps): ReactNode {
  const { control, id, value, change, isRequired, described, path, wrong } = props;
  const zone = useZone();
  const shared = {
    id,
    "aria-describedby": described,
    "aria-invalid": wrong?.[path] ? true : undefined,
    "aria-required": isRequired,
  };
  const look = wrong?.[path] ? "in bad" : "in";
  switch (control.shows) {
    case "text":
      return control.isLong ? (
        <textarea
          {...shared}
          className={look}
          value={text(value)}
          onChange={(event) => change(event.target.value || undefined)}
        />
      ) : (
        <>
          <input
            {...shared}
            className={look}
            type="text"
            autoComplete="off"
            list={control.suggested.length > 0 ? `${id}-suggested` : undefined}
            value={text(value)}
            onChange={(event) => change(event.target.value || undefined)}
          />
          {control.suggested.length > 0 && (
            <datalist id={`${id}-suggested`}>
              {control.suggested.map((word) => (
                <option key={word} value={word} />
              ))}
            </datalist>
          )}
        </>
      );
    case "number":
      return <NumberInput {...shared} look={look} control={control} value={value} change={change} />;
    case "step":
      return (
        <NumberInput
          {...shared}
          look={look}
          control={STEP}
          value={withStepNumbers(props.name, value)}
          change={(next) => change(typeof next === "number" ? stepIndex(next) : next)}
        />
      );
    case "flag":
      return (
        <input
          {...shared}
          type="checkbox"
          checked={value === true}
          onChange={(event) => change(event.target.checked || (isRequired ? false : undefined))}
        />
      );
    case "yes or no":
      return (
        <select
          {...shared}
          className={look}
          value={typeof value === "boolean" ? String(value) : ""}
          onChange={({ target }) => change(target.value === "" ? undefined : target.value === "true")}
        >
          <option value="">none</option>
          <option value="true">yes</option>
          <option value="false">no</option>
        </select>
      );
    case "choice":
      return (
        <select {...shared} className={look} value={text(value)} onChange={(event) => change(event.target.value || undefined)}>
          <option value="">{isRequired ? "choose" : "none"}</option>
          {control.words.map((word) => (
            <option key={word} value={word}>
              {stateText(word)}
            </option>
          ))}
        </select>
      );
    case "time":
      return (
        <input
          {...shared}
          className={look}
          type="datetime-local"
          step={1}
          value={typeof value === "string" && value ? zone.local(value) : ""}
          onChange={(event) => change(zone.parse(event.target.value))}
        />
      );
    case "object id":
      return <ObjectPicker {...shared} kind={control.kind} pick={props.pick} value={text(value)} change={change} label={props.label ?? fieldLabel(props.name)} />;
    case "choices":
      return <Choices words={control.words} value={value} change={change} />;
    case "list":
      return <ListInput {...props} of={control.of} />;
    case "map":
      return <MapInput {...props} of={control.of} />;
    case "group":
      return <GroupInput {...props} fields={control.fields} required={control.required} />;
    case "one of":
      return <OneOf {...props} options={control.options} />;
    case "json":
      return <JsonInput {...shared} look={look} value={value} change={change} />;
    case "fixed":
      return null;
  }
}

const text = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? String(value) : "");

interface Shared {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean | undefined;
  "aria-required": boolean;
}

type NumberControl = Extract<Control, { shows: "number" }>;

/** A step is named by its number on the page. */
const STEP: NumberControl = { shows: "number", isWhole: true, minimum: 1, maximum: undefined, unit: undefined };

function NumberInput({
  look,
  control,
  value,
  change,
  ...shared
}: Shared & { look: string; control: NumberControl; value: unknown; change: (value: unknown) => void }) {
  const [typed, setTyped] = useState(text(value));
  const { minimum, maximum, unit } = control;
  const range = [minimum !== undefined && `from ${minimum}`, maximum !== undefined && `to ${maximum}`].filter(Boolean);
  const shownValue = Number(typed) === value || typed === value ? typed : text(value);
  return (
    <span className="with-unit">
      <input
        {...shared}
        className={look}
        type="text"
        inputMode={control.isWhole ? "numeric" : "decimal"}
        autoComplete="off"
        placeholder={range.join(" ")}
        value={shownValue}
        onChange={(event) => {
          const entered = event.target.value.trim();
          setTyped(event.target.value);
          const parsed = Number(entered);
          // What is not a number is sent as it is: the service says what is wrong.
          change(entered === "" ? undefined : Number.isFinite(parsed) && !entered.endsWith(".") ? parsed : entered);
        }}
      />
      {unit && <span className="u">{unitSymbol(unit)}</span>}
    </span>
  );
}

function Choices({ words, value, change }: { words: readonly string[]; value: unknown; change: (value: unknown) => void }) {
  const chosen = Array.isArray(value) ? (value as string[]) : [];
  return (
    <span className="row wrap">
      {words.map((word) => (
        <label key={word} className="row sm">
          <input
            type="checkbox"
            value={word}
            checked={chosen.includes(word)}
            onChange={(event) => {
              const next = event.target.checked ? [...chosen, word] : chosen.filter((each) => each !== word);
              change(next.length > 0 ? next : undefined);
            }}
          />
          {stateText(word)}
        </label>
      ))}
    </span>
  );
}

function ListInput({ of, value, change, name, path, schemas, ...shared }: InputProps & { of: Schema }) {
  const entries = Array.isArray(value) ? (value as unknown[]) : [];
  const single = holdsSteps(name) ? "Step" : fieldLabel(name.replace(/ies$/, "y").replace(/s$/, ""));
  return (
    <div className="nested">
      {entries.map((entry, index) => (
        <div key={index} className="row top">
          <div className="grow">
            <Field
              {...shared}
              name={name}
              label={`${single} ${index + 1}`}
              path={`${path}.${index}`}
              schema={of}
              schemas={schemas}
              isRequired
              value={entry}
              change={(next) => change(entries.map((each, at) => (at === index ? next : each)))}
            />
          </div>
          <Remove
            label={`${single} ${index + 1}`}
            press={() => change(entries.length > 1 ? entries.filter((_, at) => at !== index) : undefined)}
          />
        </div>
      ))}
      <Add label={single} press={() => change([...entries, blank(controlOf(name, of, schemas), schemas)])} />
    </div>
  );
}

function MapInput({ of, value, change, path, schemas, ...shared }: InputProps & { of: Schema }) {
  const entries = Object.entries((value ?? {}) as Values);
  const id = useId();
  const rename = (index: number, key: string) =>
    change(Object.fromEntries(entries.map(([old, each], at) => [at === index ? key : old, each])));
  return (
    <div className="nested">
      {entries.map(([key, entry], index) => (
        <div key={index} className="row top">
          <div className="field">
            <label htmlFor={`${id}-${index}`}>Name</label>
            <input
              id={`${id}-${index}`}
              className="in"
              value={key}
              onChange={(event) => rename(index, event.target.value)}
            />
          </div>
          <div className="grow">
            <Field
              {...shared}
              label="Value"
              path={`${path}.${key}`}
              schema={of}
              schemas={schemas}
              isRequired
              value={entry}
              change={(next) => change(Object.fromEntries(entries.map(([old, each], at) => [old, at === index ? next : each])))}
            />
          </div>
          <Remove
            label={key || "entry"}
            press={() => change(entries.length > 1 ? Object.fromEntries(entries.filter((_, at) => at !== index)) : undefined)}
          />
        </div>
      ))}
      <Add label="Entry" press={() => change({ ...Object.fromEntries(entries), "": blank(controlOf("value", of, schemas), schemas) })} />
    </div>
  );
}

function GroupInput({
  fields,
  required,
  value,
  change,
  path,
  ...shared
}: InputProps & { fields: Record<string, Schema>; required: readonly string[] }) {
  const values = (value ?? {}) as Values;
  const beside = unasked(fields, required, shared.schemas);
  return (
    <div className="nested form">
      {Object.entries(fields).map(([name, schema]) => (
        <Field
          {...shared}
          key={name}
          name={name}
          label={fieldLabel(name)}
          path={`${path}.${name}`}
          schema={schema}
          isRequired={required.includes(name)}
          value={values[name]}
          change={(next) => {
            const given = without({ ...values, [name]: next });
            const isGiven = Object.values(given).some((each) => each !== null);
            change(isGiven ? { ...beside, ...given } : undefined);
          }}
        />
      ))}
    </div>
  );
}

function OneOf({ options, ...props }: InputProps & { options: readonly { title: string; schema: Schema }[] }) {
  const [chosen, setChosen] = useState(0);
  const id = useId();
  const controls = options.map(({ schema }) => controlOf(props.name, schema, props.schemas));
  const control = controls[chosen] ?? { shows: "json" };
  return (
    <div className="nested">
      <label className="row sm" htmlFor={id}>
        Form
        <select
          id={id}
          className="in"
          value={chosen}
          onChange={(event) => {
            const next = Number(event.target.value);
            setChosen(next);
            props.change(controls[next]?.shows === "group" ? blank(controls[next], props.schemas) : undefined);
          }}
        >
          {options.map(({ title }, index) => (
            <option key={index} value={index}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <div data-control={control.shows}>
        <Input {...props} control={control} id={`${id}-value`} />
      </div>
    </div>
  );
}

function JsonInput({ look, value, change, ...shared }: Shared & { look: string; value: unknown; change: (value: unknown) => void }) {
  const [typed, setTyped] = useState(() => (value === undefined ? "" : JSON.stringify(value, null, 2)));
  return (
    <textarea
      {...shared}
      className={`${look} mono`}
      placeholder="JSON"
      spellCheck={false}
      value={typed}
      onChange={(event) => {
        setTyped(event.target.value);
        change(parsed(event.target.value));
      }}
    />
  );
}

/** Return what a JSON text says; a text that is not JSON is sent as it is, and refused. */
function parsed(typed: string): unknown {
  if (typed.trim() === "") return undefined;
  try {
    return JSON.parse(typed) as unknown;
  } catch {
    return typed;
  }
}

function Add({ label, press }: { label: string; press: () => void }) {
  return (
    <div>
      <button type="button" className="btn s" onClick={press}>
        Add {label.toLowerCase()}
      </button>
    </div>
  );
}

function Remove({ label, press }: { label: string; press: () => void }) {
  return (
    <button type="button" className="btn s quiet" aria-label={`Remove ${label}`} onClick={press}>
      <Icon name="close" />
    </button>
  );
}
