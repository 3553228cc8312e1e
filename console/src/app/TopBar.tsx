/** The top bar: beamline, search, feed, clock, person. */
import { useAuth, useMe } from "../auth";
import { useFeed } from "../feed";
import { useNow, useOwnNow, useZone, utc } from "../time";
import { Icon, Logo, Popover } from "../ui";
import { forgetDrafts, setPreferences, useBeamline, useOpen, usePreferences } from "../view";

export function TopBar({ openPalette }: { openPalette: () => void }) {
  return (
    <header className="bar">
      <div className="logo">
        <Logo />
      </div>
      <BeamlineChoice />
      <button type="button" className="seek" onClick={() => openPalette()}>
        <Icon name="search" />
        <span className="grow">Search or run a command</span>
        <kbd>Ctrl K</kbd>
      </button>
      <Development />
      <FeedState />
      <Clock />
      <Person />
    </header>
  );
}

function BeamlineChoice() {
  const { settings } = useAuth();
  const { unitId, name, all, isReading } = useBeamline();
  const { data: me } = useMe();
  const open = useOpen();
  return (
    <Popover
      label="Beamlines"
      button={({ isOpen, toggle, id }) => (
        <button type="button" className="place" aria-expanded={isOpen} aria-controls={id} onClick={toggle}>
          <b>{name ?? (isReading ? "…" : "No beamline")}</b>
          <span className="dim sm">{me?.facility.name ?? settings.facility_name}</span>
          <span className="faint">
            <Icon name="down" />
          </span>
        </button>
      )}
    >
      {(close) =>
        all.length === 0 ? (
          <p className="pad dim">No beamline is registered. A beamline is an asset of tier Unit without a parent.</p>
        ) : (
          all.map((each) => (
            <button
              key={each.id}
              type="button"
              className="item"
              aria-current={each.id === unitId}
              onClick={() => {
                close();
                open(`/b/${each.id}`);
              }}
            >
              <Icon name={each.id === unitId ? "normal" : "board"} />
              {each.name}
            </button>
          ))
        )
      }
    </Popover>
  );
}

function Development() {
  const { settings } = useAuth();
  return settings.development ? (
    <span className="chip warn">
      <Icon name="caution" />
      Development
    </span>
  ) : null;
}

function FeedState() {
  const { status, heardAt } = useFeed();
  const now = useOwnNow(1000);
  if (status.state === "live")
    return (
      <div className="end live">
        <Icon name="normal" />
        <span>Live · {Math.max(0, (now - heardAt()) / 1000).toFixed(0)} s</span>
      </div>
    );
  if (status.state === "connecting")
    return (
      <div className="end live">
        <Icon name="pending" />
        <span>Connecting</span>
      </div>
    );
  return (
    <div className="end live">
      <span className="row unk b">
        <Icon name="unknown" />
        {status.state === "refused" ? "Feed denied" : "Not live"}
      </span>
    </div>
  );
}

function Clock() {
  const now = useNow(250);
  const zone = useZone();
  return (
    <div className="clock">
      <b>{zone.time(now)}</b>
      <span>
        {zone.day(now)} · {utc(now)}
      </span>
    </div>
  );
}

const KINDS: Record<string, string> = { human: "person", agent: "agent", service_account: "service account" };

function Person() {
  const { data: me } = useMe();
  const { login, settings } = useAuth();
  const { theme, density, keys } = usePreferences();
  if (!me) return null;
  const initials = me.name
    .split(/\s+/)
    .map((word) => word.charAt(0))
    .slice(0, 2)
    .join("")
    .toUpperCase();
  return (
    <Popover
      label="You and this browser"
      align="right"
      button={({ isOpen, toggle, id }) => (
        <button type="button" className="me" aria-expanded={isOpen} aria-controls={id} onClick={toggle}>
          <i aria-hidden="true">{initials}</i>
          <div>
            <b className="sm b">{me.name}</b>
            <span>{KINDS[me.kind] ?? me.kind}</span>
          </div>
        </button>
      )}
    >
      {() => (
        <div className="pad">
          <p className="sm dim">
            Surface {me.surface.name}. {me.permitted_commands.length} operations permitted, {me.proposable_commands.length} need approval.
          </p>
          <label className="field sm">
            <span className="label">Theme</span>
            <select className="in" value={theme} onChange={(event) => setPreferences({ theme: event.target.value as typeof theme })}>
              <option value="auto">Automatic: dark Board, else as the system</option>
              <option value="dark">Dark</option>
              <option value="light">Light</option>
            </select>
          </label>
          <label className="row sm">
            <input type="checkbox" checked={density === "compact"} onChange={(event) => setPreferences({ density: event.target.checked ? "compact" : "normal" })} />
            Compact tables
          </label>
          <label className="row sm">
            <input type="checkbox" checked={keys} onChange={(event) => setPreferences({ keys: event.target.checked })} />
            Single-letter keys
          </label>
          <div className="row between">
            <button
              type="button"
              className="btn s"
              onClick={() => {
                forgetDrafts();
                void login.signOut();
              }}
            >
              Sign out
            </button>
            <span className="xs faint">{settings.version && `Version ${settings.version}`}</span>
          </div>
        </div>
      )}
    </Popover>
  );
}
