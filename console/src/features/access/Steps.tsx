import { commandsFrom, isFinal, OperationButton } from "../../actions";
import type { CommandName, StreamType } from "../../api";
import { ActionButton, Popover } from "../../ui";

interface Props {
  kind: StreamType;
  /** The states of the object by axis. */
  states: Record<string, string>;
  about: Record<string, string>;
  name: string;
}

/** Show the commands that lead out of the states of an object; those that end it are behind one button. */
export function Steps({ kind, states, about, name }: Props) {
  const all = commandsFrom(kind, states);
  const [steps, ends] = [all.filter((each) => !isFinal(each)), all.filter(isFinal)];
  const button = (operation: CommandName) => (
    <OperationButton key={operation} operation={operation} about={about} name={name} size="small" hideReason>
      {wordOf(operation, kind)}
    </OperationButton>
  );
  return (
    <span className="acts">
      {steps.map(button)}
      {ends.length === 1 && ends.map(button)}
      {ends.length > 1 && (
        <Popover
          label={`End ${name}`}
          align="right"
          button={({ isOpen, toggle, id }) => (
            <ActionButton press={toggle} opens={{ isOpen, id }} size="small" look="quiet">
              End…
            </ActionButton>
          )}
        >
          {() => <div className="pad acts down">{ends.map(button)}</div>}
        </Popover>
      )}
    </span>
  );
}

/** Return the words of a command next to an object of a kind: «start_clearance_review» is «Start review». */
export function wordOf(operation: string, kind: string): string {
  const words = operation
    .split("_")
    .filter((word) => word !== kind.toLowerCase())
    .join(" ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
