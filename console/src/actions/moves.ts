/** What the catalogue says about the states that commands lead from and to. */
import type { CommandName, StreamType } from "../api/names";
import { routes } from "../api/routes";

/** Return whether a command ends something for good. */
export function isFinal(operation: CommandName): boolean {
  const { destructive, moves = [] } = routes[operation];
  return destructive === true && moves.some(({ terminal }) => terminal);
}

/** Return the commands that move an object of a kind out of its states, those that end it last. */
export function commandsFrom(kind: StreamType, states: Record<string, string>): CommandName[] {
  return (Object.keys(routes) as CommandName[])
    .filter((operation) => {
      const { aggregate, moves = [] } = routes[operation];
      // The first move is the one of the object itself; the others follow from it, some on other objects.
      const [first] = moves;
      return aggregate === kind && first !== undefined && first.from.includes(states[first.axis] ?? "");
    })
    .sort((a, b) => Number(isFinal(a)) - Number(isFinal(b)));
}
