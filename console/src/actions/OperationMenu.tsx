import { useRef } from "react";
import type { CommandName } from "../api";
import { operationTitle, operationVerb } from "../text";
import { ActionButton, Popover } from "../ui";
import { useKeys } from "../view";
import { OperationButton, type OperationButtonProps } from "./OperationButton";
import type { OperationFormProps } from "./useOperationForm";

interface Props extends Omit<OperationButtonProps, "operation" | "initial" | "children" | "size"> {
  label: string;
  operations: readonly CommandName[];
  /** What the forms of some operations have in addition, such as the values that they begin with. */
  more?: Partial<Record<CommandName, Partial<OperationFormProps>>>;
}

/** Show one button for the commands of an object; the key `.` opens them. */
export function OperationMenu({ label, operations, more = {}, ...form }: Props) {
  const place = useRef<HTMLSpanElement>(null);
  useKeys({ ".": () => place.current?.querySelector<HTMLElement>("[aria-expanded]")?.click() });
  return (
    <span ref={place}>
      <Popover
        label={label}
        align="right"
        button={({ isOpen, toggle, id }) => (
          <ActionButton icon="more" press={toggle} opens={{ isOpen, id }}>
            Actions <kbd>.</kbd>
          </ActionButton>
        )}
      >
        {(close) => (
          <ul className="pad stack">
            {operations.map((operation) => {
              const verb = operationVerb(operation);
              const isAmbiguous = operations.some((other) => other !== operation && operationVerb(other) === verb);
              return (
                <li key={operation} className="row">
                  <OperationButton {...form} operation={operation} size="small" done={close} {...more[operation]}>
                    {isAmbiguous ? operationTitle(operation) : verb}
                  </OperationButton>
                </li>
              );
            })}
          </ul>
        )}
      </Popover>
    </span>
  );
}
