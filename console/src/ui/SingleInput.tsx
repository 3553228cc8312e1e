/** Inputs for one value. */
import { useState, type ReactNode } from "react";
import { fieldLabel } from "../text/fields";
import { stateText } from "../text/states";
import { stepIndex, withStepNumbers } from "../text/steps";
import { unitSymbol } from "../text/units";
import { useZone } from "../time/zone";
import { ObjectPicker, type Pick } from "./ObjectPicker";
import type { Control } from "./schemas";

/** What an input shows and changes, whatever the kind of its value. */
export interface InputProps {
  name: string;
  label?: string;
  id: string;
  described: string | undefined;
  /** What is wrong with the value. */
  problem: string | undefined;
  isRequired: boolean;
  value: unknown;
  change: (value: unknown) => void;
  pick: Pick;
}

/** The controls whose value has no fields or entries of its own. */
export type SingleControl = Exclude<Control, { shows: "list" | "map" | "group" | "one of" }>;

/** Show the input for a value without fields or entries of its own. */
export function SingleInput({ control, id, value, change, isRequired, described, problem, ...props }: InputProps & { control: SingleControl }): ReactNode {
  const zone = useZone();
  const shared = { id, "aria-describedby": described, "aria-invalid": problem ? true : undefined, "aria-required": isRequired };
  const look = problem ? "in bad" : "in";
  switch (control.shows) {
    case "text":
      return control.isLong ? (
        <textarea {...shared} className={look} value={text(value)} onChange={(event) => change(event.target.value || undefined)} />
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
      return <input {...shared} type="checkbox" checked={value === true} onChange={(event) => change(event.target.checked || (isRequired ? false : undefined))} />;
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

function NumberInput({ look, control, value, change, ...shared }: Shared & { look: string; control: NumberControl; value: unknown; change: (value: unknown) => void }) {
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
