/** The runs that are open, with progress and one live channel. */
import { lazy, Suspense, useMemo, useState } from "react";
import { namesIn, routes, useRead, type CommandName, type Names } from "../../api";
import { OperationButton } from "../../actions";
import { useMay } from "../../auth";
import { counter, useNow, useZone } from "../../time";
import { number, plural, quantity } from "../../text";
import { Callout, EmptyState, Icon, Meter, ObjectName, Panel, StateMark } from "../../ui";
import { useOpen } from "../../view";
import { nameOf, type BoardAnswer } from "./reading";

const Plot = lazy(() => import("../../ui/Plot").then((module) => ({ default: module.Plot })));

/** Who held a run. */
export interface Holder {
  name: string;
  isAgent: boolean;
}

type BoardRun = NonNullable<BoardAnswer["runs"]>[number];

const COMMANDS: readonly CommandName[] = ["hold_run", "resume_run", "complete_run", "stop_run", "abort_run"];
const POINTS = 240;
const PLOT_HEIGHT = 150;

/** How far a run is: by its progress channel, or only for how long it runs. */
export function useProgress(run: BoardRun) {
  const summary = useRead("get_run_observation_summary", { run_id: run.id }, { current: true });
  const channels = summary.data?.channels ?? [];
  const { progress } = run;
  const last = channels.find(({ channel_name }) => channel_name === progress?.channel_name)?.last_value;
  const value = last ?? progress?.value ?? 0;
  return { channels, progress: progress && { ...progress, value, share: progress.of > 0 ? value / progress.of : 0 } };
}

export function RunPanel({ board, heldBy }: { board: BoardAnswer; heldBy: (runId: string) => Holder | undefined }) {
  const names = namesIn(board);
  const runs = board.runs ?? [];
  const [chosen, setChosen] = useState<string>();
  const run = runs.find(({ id }) => id === chosen) ?? runs[0];
  if (!run)
    return (
      <Panel title="Runs" className="run" note={board.runs ? "none open" : undefined}>
        <EmptyState>{board.runs ? "No run is running or held on this beamline." : "You are not permitted to list runs."}</EmptyState>
      </Panel>
    );
  return <OpenRun key={run.id} run={run} runs={runs} names={names} choose={setChosen} heldBy={heldBy(run.id)} />;
}

interface OpenRunProps {
  run: BoardRun;
  runs: readonly BoardRun[];
  names: Names;
  choose: (id: string) => void;
  heldBy: Holder | undefined;
}

function OpenRun({ run, runs, names, choose, heldBy }: OpenRunProps) {
  const { channels } = useProgress(run);
  const zone = useZone();
  const open = useOpen();
  return (
    <Panel
      title={<ObjectName id={run.id} kind="Run" name={run.name} plain />}
      className="run"
      note={run.subject_id ? nameOf(names, run.subject_id, "subject") : undefined}
      end={<RunState run={run} />}
    >
      {runs.length > 1 && (
        <div className="tabs" role="group" aria-label="Open runs">
          {runs.map(({ id, name }) => (
            <button key={id} type="button" className={id === run.id ? "on" : ""} aria-pressed={id === run.id} onClick={() => choose(id)}>
              {name}
            </button>
          ))}
        </div>
      )}
      <RunProgress run={run} />
      <LiveChannel run={run} channels={channels.filter(({ channel_name }) => channel_name !== run.progress?.channel_name)} />
      {run.campaign_id && <CampaignProgress campaignId={run.campaign_id} />}
      {run.status === "Held" && (
        <div className="not-wall">
          <Callout mark="held">
            <span className="row">
              <Icon name={heldBy?.isAgent ? "agent" : "held"} className="warn" />
              <span>
                {heldBy ? <b className="b">{heldBy.name} held</b> : "Held"} this run at {zone.time(run.since)}
                {run.reason ? `: ${run.reason}.` : "."}
              </span>
            </span>
          </Callout>
        </div>
      )}
      <div className="row wrap run-actions not-wall">
        <Commands run={run} />
        <span className="end">
          <button type="button" className="btn quiet" onClick={() => open(`/runs/${run.id}`)}>
            <Icon name="right" />
            Open
          </button>
        </span>
      </div>
    </Panel>
  );
}

/** «Held · 0:20» */
export function RunState({ run }: { run: BoardRun }) {
  const now = useNow(1000);
  return (
    <StateMark state={run.status} schema="RunStatus" as="chip">
      {counter(now - Date.parse(run.since))}
    </StateMark>
  );
}

/** The share in large figures, with a bar. */
export function RunProgress({ run }: { run: BoardRun }) {
  const { progress } = useProgress(run);
  const now = useNow(1000);
  const zone = useZone();
  const [started, since] = [Date.parse(run.started_at), Date.parse(run.since)];
  const isHeld = run.status === "Held";
  const times = [`started ${zone.stamp(run.started_at, now)}`];
  if (isHeld) times.push(`held for ${counter(now - since)}`);
  const share = progress?.share ?? 0;
  // A run that was held before has run for an unknown part of the time since its start.
  const isUninterrupted = !isHeld && since === started && share > 0.02 && share < 1;
  if (isUninterrupted) times.push(`about ${counter(((now - started) * (1 - share)) / share)} to go`);
  return (
    <>
      <div className="progress">
        <span className="big-number">{progress ? `${Math.floor(share * 100)} %` : counter(now - started)}</span>
        <div>
          <div className="count">{progress ? `${number(progress.value)} of ${number(progress.of)} ${words(progress.channel_name)}` : "since the start"}</div>
          <div className="dim sm">{times.join(" · ")}</div>
        </div>
      </div>
      {progress && <Meter value={progress.value} of={progress.of} label={`Progress of ${run.name}`} tone={isHeld ? "warn" : "act"} />}
    </>
  );
}

const words = (channel: string) => channel.replaceAll("_", " ").toLowerCase();

interface Channel {
  channel_name: string;
  unit: { code: string; label: string | null } | null;
  simulated: boolean;
  last_value: number;
  last_at: string;
  minimum: number;
  maximum: number;
}

/** One channel as a plot, with its last value. */
function LiveChannel({ run, channels }: { run: BoardRun; channels: readonly Channel[] }) {
  const [chosen, setChosen] = useState<string>();
  const zone = useZone();
  const now = useNow(10_000);
  const channel = channels.find(({ channel_name }) => channel_name === chosen) ?? channels[0];
  const series = useRead(
    "get_run_series",
    { run_id: run.id, channel_name: [channel?.channel_name ?? ""], points: POINTS },
    { when: channel !== undefined, keep: true, current: true },
  );
  const read = series.data?.channels[0];
  const name = channel?.channel_name ?? "";
  const unit = channel?.unit?.label ?? channel?.unit?.code;
  const plotted = useMemo(
    () => ({
      name,
      unit,
      times: (read?.times ?? []).map((time) => Date.parse(time) / 1000),
      values: read?.last ?? [],
    }),
    [name, read, unit],
  );
  const since = Date.parse(run.started_at) / 1000;
  const first = plotted.times[0] ?? since;
  const range = useMemo(() => [Math.min(since, first), Math.max(now / 1000, plotted.times.at(-1) ?? 0)] as const, [first, now, plotted, since]);
  if (!channel) return <p className="dim sm live-none">No observations of this run yet.</p>;
  return (
    <div className="live-channel">
      <div className="row sm between">
        {channels.length > 1 ? (
          <select className="channel" aria-label="Channel" value={name} onChange={(event) => setChosen(event.target.value)}>
            {channels.map(({ channel_name }) => (
              <option key={channel_name}>{channel_name}</option>
            ))}
          </select>
        ) : (
          <span className="dim">{name}</span>
        )}
        <span className="row">
          {channel.simulated && <span className="chip">Simulated</span>}
          <span className="dim nowrap">
            <b className="b ink">{quantity(channel.last_value, unit)}</b> at {zone.stamp(channel.last_at, now)}
          </span>
        </span>
      </div>
      <div className="live-plot" style={{ minHeight: PLOT_HEIGHT }}>
        {plotted.times.length > 1 && (
          <Suspense fallback={null}>
            <Plot series={plotted} height={PLOT_HEIGHT} range={range} isArea />
          </Suspense>
        )}
      </div>
    </div>
  );
}

/** How many runs of the campaign are done. */
function CampaignProgress({ campaignId }: { campaignId: string }) {
  const campaign = useRead("get_campaign", { campaign_id: campaignId }, { current: true });
  const done = useRead("list_runs", { campaign_id: campaignId, status: ["Completed"], count: true, limit: 1 }, { current: true });
  if (!campaign.data) return null;
  const { name, run_count: all } = campaign.data;
  const total = typeof done.data?.total === "number" ? done.data.total : 0;
  return (
    <div className="campaign">
      <div className="row sm between">
        <span className="dim">Campaign</span>
        <span>
          <b className="b">{name}</b> · {total} of {plural(all, "run")} completed
        </span>
      </div>
      <Meter value={total} of={all} label={`Campaign ${name}`} />
    </div>
  );
}

/** The commands that the catalogue allows in this state; those that are not permitted say so. */
function Commands({ run }: { run: BoardRun }) {
  const may = useMay();
  const shown = useRead("get_run", { run_id: run.id }, { current: true });
  const fitting = COMMANDS.filter((operation) => routes[operation].moves?.some(({ from }) => from.includes(run.status)));
  const reasons = [...new Set(fitting.map((operation) => may(operation, { status: run.status }).reason).filter(Boolean))];
  return (
    <>
      {/* An outcome that is unknown stays on the screen when the run has gone on. */}
      {COMMANDS.map((operation) => (
        <OperationButton
          key={operation}
          isOffered={fitting.includes(operation)}
          operation={operation}
          about={{ run_id: run.id }}
          name={run.name}
          etag={shown.etag}
          states={{ status: run.status }}
          hideReason
          {...(operation === "hold_run" && { icon: "held" as const })}
          {...(operation === "resume_run" && { icon: "progress" as const })}
        />
      ))}
      {reasons.length > 0 && <span className="why">{reasons.join(". ")}</span>}
    </>
  );
}
