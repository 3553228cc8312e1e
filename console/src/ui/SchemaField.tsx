/** A field of a form, with the fields and entries within it. */
import { useId, useState, type ReactNode } from "react";
import type { Schema } from "../api/catalogue.json";
import { fieldLabel } from "../text/fields";
import { holdsSteps } from "../text/steps";
import { Icon } from "./Icon";
import { blank, controlOf, plain, unasked, type Control, type Schemas } from "./schemas";

import { SingleInput, type InputProps } from "./SingleInput";

export type Values = Record<string, unknown>;

interface FieldProps extends Omit<InputProps, "id" | "described" | "problem"> {
  path: string;
  schema: Schema;
  schemas: Schemas;
  /** What is wrong with a field, by its path. */
  wrong?: Readonly<Record<string, string>>;
}

export function Field(props: FieldProps) {
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

type NestedProps = FieldProps & Pick<InputProps, "id" | "described">;

function Input({ control, ...props }: NestedProps & { control: Control }): ReactNode {
  switch (control.shows) {
    case "list":
      return <ListInput {...props} of={control.of} />;
    case "map":
      return <MapInput {...props} of={control.of} />;
    case "group":
      return <GroupInput {...props} fields={control.fields} required={control.required} />;
    case "one of":
      return <OneOf {...props} options={control.options} />;
    default:
      return <SingleInput {...props} control={control} problem={props.wrong?.[props.path]} />;
  }
}

function ListInput({ of, value, change, name, path, schemas, ...shared }: NestedProps & { of: Schema }) {
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
          <Remove label={`${single} ${index + 1}`} press={() => change(entries.length > 1 ? entries.filter((_, at) => at !== index) : undefined)} />
        </div>
      ))}
      <Add label={single} press={() => change([...entries, blank(controlOf(name, of, schemas), schemas)])} />
    </div>
  );
}

function MapInput({ of, value, change, path, schemas, ...shared }: NestedProps & { of: Schema }) {
  const entries = Object.entries((value ?? {}) as Values);
  const id = useId();
  const rename = (index: number, key: string) => change(Object.fromEntries(entries.map(([old, each], at) => [at === index ? key : old, each])));
  return (
    <div className="nested">
      {entries.map(([key, entry], index) => (
        <div key={index} className="row top">
          <div className="field">
            <label htmlFor={`${id}-${index}`}>Name</label>
            <input id={`${id}-${index}`} className="in" value={key} onChange={(event) => rename(index, event.target.value)} />
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
          <Remove label={key || "entry"} press={() => change(entries.length > 1 ? Object.fromEntries(entries.filter((_, at) => at !== index)) : undefined)} />
        </div>
      ))}
      <Add label="Entry" press={() => change({ ...Object.fromEntries(entries), "": blank(controlOf("value", of, schemas), schemas) })} />
    </div>
  );
}

function GroupInput({ fields, required, value, change, path, ...shared }: NestedProps & { fields: Record<string, Schema>; required: readonly string[] }) {
  const values = (value ?? {}) as Values;
  const defaults = unasked(fields, required, shared.schemas);
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
            change(isGiven ? { ...defaults, ...given } : undefined);
          }}
        />
      ))}
    </div>
  );
}

function OneOf({ options, ...props }: NestedProps & { options: readonly { title: string; schema: Schema }[] }) {
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

/** Leave out what was not given. */
export function without(values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
