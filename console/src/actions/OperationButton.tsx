/** A button for a command: it opens a popover or a sheet, and nothing is written before a dry run. */
import { Suspense, useCallback, useState, type ComponentProps, type ReactNode } from "react";
import { routes } from "../api/routes";
import { useCatalogue } from "../api/useCatalogue";
import { useMay } from "../auth";
import { operationOn, operationTitle, operationVerb } from "../text";
import { ActionButton, ActionSheet, Popover, type ActionButtonProps } from "../ui";
import { isFinal } from "./moves";
import { FormParts } from "./FormParts";
import type { OperationFormProps } from "./useOperationForm";
import type { CommandName, Sent } from "../api";
import type { Fact } from "../api/problems";
import { kindOfField } from "../text";
import type { Values } from "../ui";

export interface OperationButtonProps extends OperationFormProps {
  /** The states of the object by axis, such as `{ status: "Held" }`. */
  states?: Record<string, string | null | undefined>;
  /** The text of the button (default: the verb of the operation). */
  children?: ReactNode;
  icon?: ActionButtonProps["icon"];
  look?: ActionButtonProps["look"];
  size?: ActionButtonProps["size"];
  hideReason?: boolean;
  /** Whether there is a button (default: true); without it, a form that is open stays so. */
  isOffered?: boolean;
}

/** Show a button that opens the form of a command; disabled with a reason when it cannot be run. */
export function OperationButton({ states = {}, children, icon, look, size, hideReason, isOffered = true, ...form }: OperationButtonProps) {
  const may = useMay();
  const [isOpen, setOpen] = useState(false);
  const offer = may(form.operation, states);
  const close = useCallback(() => setOpen(false), [setOpen]);
  const isTerminal = form.isTerminal ?? isFinal(form.operation);
  const label = <>{children ?? operationVerb(form.operation)}…</>;
  const shown = {
    reason: offer.isEnabled ? undefined : offer.reason,
    ...(icon && { icon }),
    ...(look && { look }),
    ...(size && { size }),
    ...(hideReason !== undefined && { hideReason }),
  };
  if (routes[form.operation].bare && !isTerminal && form.about)
    return (
      <Popover
        label={operationTitle(form.operation)}
        button={({ isOpen: isShown, toggle, id }) =>
          (isOffered || isShown) && (
            <ActionButton press={toggle} opens={{ isOpen: isShown, id }} {...shown}>
              {label}
            </ActionButton>
          )
        }
      >
        {(done) => (
          <Suspense fallback={null}>
            <Bare {...form} close={done} />
          </Suspense>
        )}
      </Popover>
    );
  return (
    <>
      {isOffered && (
        <ActionButton press={() => setOpen(true)} {...shown}>
          {label}
        </ActionButton>
      )}
      {isOpen && (
        <Suspense fallback={null}>
          <OperationSheet {...form} close={close} />
        </Suspense>
      )}
    </>
  );
}

/** Show the dry run of a command that asks for nothing, and one button. */
function Bare({ close, done, ...form }: OperationFormProps & { close: () => void }) {
  const finished = (sent: Sent | undefined) => {
    done?.(sent);
    close();
  };
  return (
    <OperationForm {...form} isBare done={finished}>
      {({ body, footer }) => (
        <div className="pad bare">
          {body}
          <div className="row wrap">{footer}</div>
        </div>
      )}
    </OperationForm>
  );
}

/** Show the form of a command as a sheet. */
export function OperationSheet({ close, done, ...form }: OperationFormProps & { close: () => void }) {
  const { operations } = useCatalogue();
  const { method, path } = operations[form.operation];
  const finished = useCallback<NonNullable<OperationFormProps["done"]>>(
    (sent) => {
      done?.(sent);
      close();
    },
    [close, done],
  );
  const title = form.name ? operationOn(form.operation, form.name) : operationTitle(form.operation);
  return (
    <OperationForm {...form} done={finished}>
      {({ body, footer, confirm, state }) => (
        <ActionSheet
          title={title}
          note={<code title={`${method} ${path}`}>{form.operation}</code>}
          close={close}
          confirm={confirm}
          footer={
            <>
              {footer}
              <ActionButton look="quiet" press={close}>
                {state.phase === "proposed" ? "Close" : "Not now"}
              </ActionButton>
            </>
          }
        >
          {body}
        </ActionSheet>
      )}
    </OperationForm>
  );
}

/** Show a form whose refusals have the buttons that clear them. */
export function OperationForm(form: Omit<ComponentProps<typeof FormParts>, "remedies">) {
  return <FormParts {...form} remedies={(operations, fact, values) => <Remedies operations={operations} fact={fact} values={values} />} />;
}

/** Show a button for each operation that clears a fact. */
export function Remedies({ operations, fact, values }: { operations: readonly string[]; fact: Fact | undefined; values: Values }) {
  const states = fact ? { status: fact.state, lifecycle: fact.state, condition: fact.state } : {};
  return (
    <>
      {operations.filter(isOperation).map((name) => (
        <OperationButton key={name} operation={name} about={aboutOf(name, fact, values)} name={fact?.name} states={states} size="small" />
      ))}
    </>
  );
}

/** Return the part of an operation's path that a fact, or the refused command, is about. */
function aboutOf(operation: CommandName, fact: Fact | undefined, values: Values): Values {
  const field = /\{(\w+)\}/.exec(routes[operation].path)?.[1];
  if (!field) return {};
  if (fact?.id && kindOfField(field) === fact.kind) return { [field]: fact.id };
  return values[field] === undefined ? {} : { [field]: values[field] };
}

/** Return whether an operation exists, for names that the service sends. */
export function isOperation(name: string): name is CommandName {
  return name in routes;
}
