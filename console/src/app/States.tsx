/** Every state and shape of the console on one sheet, for design reviews and snapshots. */
import { Problem } from "../api";
import { ActionButton, Callout, DryRun, EmptyState, Failure, Icon, ObjectName, Panel, Refusal, SkeletonLines, StaleBanner, StateMark } from "../ui";
import type { Mark } from "../text";
import { useZone, utc } from "../time";
import { TONES } from "../text/states";
import "./states.css";

/** The moment of the sheet, so that two pictures of it are alike. */
const NOW = Date.parse("2026-11-18T08:44:18Z");

const SHAPES: readonly (readonly [Mark, string, string])[] = [
  ["normal", "Normal", "no colour"],
  ["blocks", "Blocks", "red octagon"],
  ["caution", "Caution", "amber triangle"],
  ["unknown", "Unknown", "violet diamond"],
  ["progress", "In progress", "blue ring"],
  ["held", "Held", "two bars"],
  ["pending", "Pending", "dashed ring"],
  ["done", "Done", "ring and tick"],
  ["denied", "Denied, retracted", "barred ring"],
  ["info", "Information", "ring and i"],
];

const denied = new Problem(403, { title: "Denied." });
const failed = new Problem(
  503,
  { code: "StoreUnavailableError", detail: "The database does not respond. Nothing written." },
  new Headers({ "X-Correlation-Id": "01a1e7b8-98c7-7192-b9c2-527e453e45b6" }),
);
const refused = new Problem(409, {
  code: "RunCannotResumeError",
  title: "Run 1 cannot be resumed.",
  detail: "Its status is Running; it must be Held.",
});

const nothing = () => undefined;

export default function States() {
  const zone = useZone();
  return (
    <div className="main states">
      <h1 className="hidden">States</h1>
      <StaleBanner since={NOW} retryIn={4} reconnect={nothing} />
      <div className="col">
        <Panel title="Beam" end={<span className="lab">feed lost</span>}>
          <div className="old">
            <div className="v">
              <span className="old-value">Unavailable</span>
            </div>
            <div className="unk">Ring beam · as of {zone.time(NOW)}</div>
          </div>
        </Panel>
        <Panel title="Runs" end={<span className="lab">loading, after 300 ms</span>}>
          <SkeletonLines what="runs" />
        </Panel>
        <Panel title="Procedures" end={<span className="lab">empty</span>}>
          <EmptyState
            action={
              <>
                <ActionButton size="small" press={nothing}>
                  Register one…
                </ActionButton>
                <span className="dim sm">
                  or press <kbd>Ctrl K</kbd>
                </span>
              </>
            }
          >
            No procedure is being conducted.
          </EmptyState>
        </Panel>
        <Panel title="Policies" end={<span className="lab">denied</span>}>
          <Failure problem={denied} what="policies" operation="list_policies" surface="Tomography console" />
        </Panel>
        <Panel title="Calibrations" end={<span className="lab">error</span>}>
          <Failure problem={failed} what="calibrations" again={nothing} />
        </Panel>
        <Panel title="Keys">
          <div className="row wrap sm keys">
            <kbd>Ctrl K</kbd> commands <kbd>G B</kbd> board <kbd>G R</kbd> runs <kbd>J</kbd>
            <kbd>K</kbd> move <kbd>.</kbd> actions <kbd>T</kbd> as of <kbd>?</kbd> all keys
          </div>
        </Panel>
      </div>
      <div className="col">
        <Panel title="Outcome unknown" end={<span className="lab">503 after a press</span>}>
          <Callout mark="unknown" title="Unknown whether run 1 was held.">
            The response was lost. Retrying is safe: the same idempotency key is used, so the command has at most one effect.
          </Callout>
          <div className="row">
            <ActionButton look="main" size="small" press={nothing}>
              Retry with the same key
            </ActionButton>
            <ActionButton size="small" press={nothing}>
              Read run 1
            </ActionButton>
          </div>
        </Panel>
        <Panel title="Concurrent change" end={<span className="lab">412 or 409</span>}>
          <Callout mark="caution" title="Run 1 has changed.">
            Version 6 (resumed 2 s ago) replaced version 5. Nothing written.
          </Callout>
          <div className="row">
            <ActionButton size="small" press={nothing}>
              Review the change
            </ActionButton>
          </div>
        </Panel>
        <Panel title="Refused" end={<span className="lab">409 with facts</span>}>
          <Refusal problem={refused} />
          <div className="row">
            <ActionButton size="small" press={nothing}>
              Hold run 1…
            </ActionButton>
            <span className="dim sm">makes it Held</span>
          </div>
        </Panel>
        <Panel title="Action with dry run" end={<span className="lab">200 dry run</span>}>
          <DryRun at={NOW} answer={{ events: [{ event_type: "RunHeld", payload: { reason: "Sample slipped" } }] }} />
          <div className="row">
            <ActionButton look="main" size="small" press={nothing}>
              Hold run 1
            </ActionButton>
            <ActionButton look="quiet" size="small" press={nothing}>
              Not now
            </ActionButton>
          </div>
        </Panel>
        <Panel title="Terminal action" end={<span className="lab">terminal move</span>}>
          <p className="sm">Aborted is final. Recorded data are kept.</p>
          <div className="row">
            <ActionButton look="terminal" size="small" press={nothing}>
              Abort run 1 permanently
            </ActionButton>
            <ActionButton look="quiet" size="small" press={nothing}>
              Not now
            </ActionButton>
          </div>
        </Panel>
      </div>
      <div className="col">
        <Panel title="Shapes" end={<span className="lab">one shape, one meaning</span>}>
          <div className="glyphs">
            {SHAPES.map(([mark, name, meaning]) => (
              <div key={mark}>
                <Icon name={mark} className={TONES[mark] || "dim"} />
                <span>
                  <b className="b">{name}</b>
                  <span className="dim sm line">{meaning}</span>
                </span>
              </div>
            ))}
          </div>
        </Panel>
        <Panel title="Buttons">
          <div className="row wrap">
            <ActionButton look="main" press={nothing}>
              Start run 2
            </ActionButton>
            <ActionButton press={nothing}>Hold…</ActionButton>
            <ActionButton look="quiet" press={nothing}>
              Later
            </ActionButton>
            <ActionButton press={nothing} reason="only from Recovering" hideReason>
              Restore…
            </ActionButton>
          </div>
          <p className="dim sm">… opens a form. Dashed: disabled; the reason is shown next to the button and read by screen readers.</p>
          <div className="row">
            <span className="btn focused">Focused</span>
            <span className="dim sm">2 px outline, 2 px offset, 3:1 contrast</span>
          </div>
        </Panel>
        <Panel title="Chips">
          <div className="row wrap">
            <StateMark as="chip" state="Completed" kind="Run" />
            <StateMark as="chip" state="Running" kind="Run">
              1:58
            </StateMark>
            <StateMark as="chip" state="Held" kind="Run">
              0:20
            </StateMark>
            <StateMark as="chip" state="Faulted" schema="AssetCondition" />
            <StateMark as="chip" state="Unknown" schema="PermitStatus" />
            <StateMark as="chip" mark="info">
              Simulated
            </StateMark>
          </div>
        </Panel>
        <Panel title="Time and names">
          <Moments />
        </Panel>
      </div>
    </div>
  );
}

function Moments() {
  const zone = useZone();
  return (
    <dl className="kv">
      <dt>Now</dt>
      <dd>
        <b className="b">{zone.time(NOW)}</b>{" "}
        <span className="dim">
          {zone.day(NOW)} · {utc(NOW)}
        </span>
      </dd>
      <dt>Near</dt>
      <dd>
        {zone.time(NOW - 20_000)} <span className="dim">· 0:20 ago, counting</span>
      </dd>
      <dt>Other day</dt>
      <dd>{zone.stamp(NOW - 17.4 * 3_600_000, NOW)}</dd>
      <dt>Thing</dt>
      <dd>
        <ObjectName id="01a1e7b8-7115-71c0-a8dd-b3bace9b8c5f" name="Hexapod" kind="Asset" /> <span className="dim sm">copies its id</span>
      </dd>
      <dt>Erased person</dt>
      <dd>&lt;deleted user&gt;</dd>
    </dl>
  );
}
