import { useZone } from "../time/zone";
import { Icon } from "./Icon";

interface Props {
  /** When the last update came, in milliseconds by the clock of the service. */
  since: number;
  /** Seconds until the next attempt, or undefined while one is under way. */
  retryIn: number | undefined;
  reconnect: () => void;
}

/** Say on every screen that the values may be outdated. */
export function StaleBanner({ since, retryIn, reconnect }: Props) {
  const zone = useZone();
  return (
    <div className="lost" role="region" aria-label="Not live">
      <Icon name="unknown" />
      <span>
        <b>Not live since {zone.time(since)}.</b> The values shown may be outdated. {retryIn === undefined ? "Reconnecting…" : `Reconnecting in ${retryIn} s.`}
      </span>
      <span className="end">
        <button type="button" className="btn s" onClick={reconnect}>
          Reconnect now
        </button>
      </span>
    </div>
  );
}
