import { markOf, stateText, TONES, type StateSchema } from "../text/states";
import { Icon } from "./Icon";

/** All states of an axis in order, with the current one marked. */
export function AxisTrack({ name, states, current, schema }: { name: string; states: readonly string[]; current: string; schema?: StateSchema }) {
  return (
    <div className="axis">
      <span className="a">{name}</span>
      <div className="p" role="list" aria-label={name}>
        {states.map((state) => {
          const isCurrent = state === current;
          const mark = markOf(state, schema);
          return (
            <span key={state} role="listitem" className={isCurrent ? `on ${TONES[mark]}` : ""} aria-current={isCurrent ? "true" : undefined}>
              {isCurrent && TONES[mark] && <Icon name={mark} />}
              {stateText(state)}
            </span>
          );
        })}
      </div>
    </div>
  );
}
