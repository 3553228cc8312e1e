import { commandsFrom, isFinal } from "../../actions";
import "./access.css";

/** Return where a row belongs: it waits for a step, it only can be ended, or it has ended. */
export function rank(kind: "Visit" | "Clearance", states: Record<string, string>): number {
  const commands = commandsFrom(kind, states);
  if (commands.length === 0) return 2;
  return commands.every(isFinal) ? 1 : 0;
}

/** Let the reader choose between what has not ended and everything. */
export function OpenOrAll({ name, isAll, set }: { name: string; isAll: boolean; set: (isAll: boolean) => void }) {
  return (
    <span className="tabs" role="group" aria-label={`Which ${name}`}>
      {[false, true].map((each) => (
        <button key={String(each)} type="button" className={each === isAll ? "on" : ""} aria-pressed={each === isAll} onClick={() => set(each)}>
          {each ? "All" : "Open"}
        </button>
      ))}
    </span>
  );
}
