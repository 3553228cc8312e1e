/** The Board: whether a run can start, and if not, which checks fail and what clears them. */
import { Link } from "@tanstack/react-router";
import { Suspense, useCallback, useState } from "react";
import { namesIn, useRead, type Read } from "../../api";
import { OperationSheet } from "../../actions";
import { useMay } from "../../auth";
import { useFeed } from "../../feed";
import { useAsOf, useZone } from "../../time";
import { stateText, TONES } from "../../text";
import { ActionButton, Boundary, Callout, EmptyState, Failure, Icon, Skeleton } from "../../ui";
import { PHONE, useBeamline, useKeys, useMedia } from "../../view";
import "./board.css";
import { CautionCard, CautionsPanel, EventLines, EventsPanel, holderOf, ProceduresPanel, useRecentEvents } from "./Panels";
import { advisoryText, ReadinessPanel } from "./Readiness";
import { faultsOf, nameOf, nextName, verdictOn, verdictWhile, type BoardAnswer, type Readiness, type Verdict } from "./reading";
import { RunPanel, RunProgress, RunState } from "./Run";
import { Tiles, useTiles, type TileState } from "./Tiles";
import { useChoice, type Choice } from "./useChoice";

export default function Board() {
  const { unitId, problem } = useBeamline();
  if (unitId) return <OfBeamline key={unitId} unitId={unitId} />;
  return (
    <div className="main">
      <h1 className="hidden">Board</h1>
      {problem ? (
        <Failure problem={problem} what="the beamlines" operation="list_assets" />
      ) : (
        <EmptyState>No beamline is registered. A beamline is an asset of tier Unit without a parent.</EmptyState>
      )}
    </div>
  );
}

function OfBeamline({ unitId }: { unitId: string }) {
  const board = useRead("get_board", { asset_id: unitId }, { current: true });
  const choice = useChoice(unitId, board.data);
  const readiness = useRead(
    "get_plan_readiness",
    { plan_id: choice.planId ?? "", ...(choice.subjectId && { subject_id: choice.subjectId }) },
    { when: choice.planId !== undefined, current: true },
  );
  if (board.data) return <Shown unitId={unitId} board={board.data} at={board.at} isOutdated={board.problem !== undefined} choice={choice} readiness={readiness} />;
  return (
    <div className="main">
      <h1 className="hidden">Board</h1>
      {board.problem ? <Failure problem={board.problem} what="the board" operation="get_board" again={board.again} /> : <Skeleton what="the board" />}
    </div>
  );
}

interface ShownProps {
  unitId: string;
  board: BoardAnswer;
  at: number | undefined;
  /** Whether the board could not be read again. */
  isOutdated: boolean;
  choice: Choice;
  readiness: Read<Readiness>;
}

function Shown({ unitId, board, at, isOutdated, choice, readiness }: ShownProps) {
  const zone = useZone();
  const { status } = useFeed();
  const isPhone = useMedia(PHONE);
  const recent = useRecentEvents();
  const tiles = useTiles(board, readiness.data);
  const isWaiting = choice.planId !== undefined && !readiness.data && !readiness.problem;
  const read = isWaiting ? WAITING : readiness.problem || isOutdated ? UNREADABLE : verdictOn(readiness.data, board);
  const verdict = verdictWhile(status.state, read);
  const isHeard = status.state === "live" || status.state === "connecting";
  const asOf = !isHeard && at !== undefined ? zone.time(at) : undefined;
  if (isPhone) return <Phone board={board} tiles={tiles} asOf={asOf} verdict={verdict} recent={recent} />;
  return (
    <div className="main board">
      <Past />
      <VerdictBar verdict={verdict} unitId={unitId} choice={choice} readiness={readiness.data} />
      <Tiles tiles={tiles} asOf={asOf} />
      <TileKeys />
      <div className="cols">
        <div className="col not-wall">
          <Boundary what="readiness">
            <ReadinessPanel choice={choice} readiness={readiness} faults={faultsOf(board.assets, readiness.data)} />
          </Boundary>
        </div>
        <div className="col">
          <Boundary what="the runs">
            <RunPanel board={board} heldBy={(runId) => holderOf(recent.read.data, runId)} />
          </Boundary>
          <Boundary what="the procedures">
            <ProceduresPanel unitId={unitId} board={board} />
          </Boundary>
        </div>
        <div className="col not-wall">
          <Boundary what="the cautions">
            <CautionsPanel board={board} />
          </Boundary>
          <Boundary what="recent events">
            <EventsPanel board={board} recent={recent} />
          </Boundary>
        </div>
      </div>
    </div>
  );
}

const UNREADABLE: Verdict = { word: "Unknown", sentence: "The state of the beamline could not be read.", mark: "unknown" };
const WAITING: Verdict = { word: "…", sentence: "Reading the start checks.", mark: "pending" };

function VerdictBar({ verdict, unitId, choice, readiness }: { verdict: Verdict; unitId: string; choice: Choice; readiness: Readiness | undefined }) {
  const tone = TONES[verdict.mark];
  return (
    <section className={`verdict ${tone}`} aria-label="Verdict">
      <Icon name={verdict.mark} className={`v ${tone}`} />
      <div className="grow">
        <h1>{verdict.word}</h1>
        <p>{verdict.sentence}</p>
      </div>
      <Start unitId={unitId} choice={choice} readiness={readiness} />
    </section>
  );
}

/** The button that opens the start sheet, and what the next run would be. */
function Start({ unitId, choice, readiness }: { unitId: string; choice: Choice; readiness: Readiness | undefined }) {
  const may = useMay();
  const [isOpen, setOpen] = useState(false);
  const newest = useNewestRun(unitId, choice.planId);
  const close = useCallback(() => setOpen(false), []);
  const name = nextName(newest);
  const offer = may("start_run");
  // A value given at the start can clear some checks; the service says which.
  const isBlocked = readiness !== undefined && readiness.checks.some(({ passed, cleared_by }) => !passed && !cleared_by.includes("start_run"));
  const reason = offer.isEnabled ? (isBlocked ? "Not ready: clear the failing checks first" : undefined) : offer.reason;
  useKeys({
    S: () => {
      if (reason === undefined) setOpen(true);
    },
    P: () => document.getElementById("board-plan")?.click(),
  });
  const busy = readiness?.advisories.filter(({ kind }) => kind === "Run").length ?? 0;
  return (
    <div className="next row not-wall">
      <ActionButton size="big" icon="progress" press={() => setOpen(true)} reason={reason} hideReason={isBlocked && offer.isEnabled}>
        {isBlocked ? "Start a run" : `Start ${name}…`}
      </ActionButton>
      {choice.plan && (
        <div className="dim sm">
          <div className="cut">
            Next: <b className="b">{name}</b> of {choice.plan.name}
          </div>
          <div className="cut">{choice.subject ? `on ${choice.subject.name}, ${stateText(choice.subject.status).toLowerCase()}` : "without a subject"}</div>
          {busy > 0 && <div className="cut">Another run uses the same assets.</div>}
        </div>
      )}
      {isOpen && (
        <Suspense fallback={null}>
          <OperationSheet
            operation="start_run"
            initial={{
              name,
              ...(choice.planId && { plan_id: choice.planId }),
              ...(choice.subjectId && { subject_id: choice.subjectId }),
            }}
            name={name}
            lead={<Acknowledged readiness={readiness} />}
            close={close}
          />
        </Suspense>
      )}
    </div>
  );
}

/** Return the name of the newest run of a plan; before its first run, of the newest of the beamline. */
function useNewestRun(unitId: string, planId: string | undefined): string | undefined {
  const among = { under_asset_id: unitId, order: "newest", limit: 1 } as const;
  const ofPlan = useRead("list_runs", { ...among, plan_id: planId ?? "" }, { when: planId !== undefined, current: true });
  const hasNone = planId === undefined || ofPlan.data?.items.length === 0;
  const ofBeamline = useRead("list_runs", among, { when: hasNone, current: true });
  return (hasNone ? ofBeamline : ofPlan).data?.items[0]?.name;
}

/** The cautions that a start acknowledges, and what else is worth knowing before one. */
function Acknowledged({ readiness }: { readiness: Readiness | undefined }) {
  if (!readiness) return null;
  const { cautions, advisories } = readiness;
  return (
    <>
      {cautions.length > 0 && (
        <section aria-label="Cautions" className="stack acknowledged">
          <p className="b">{cautions.length === 1 ? "Starting acknowledges this caution." : `Starting acknowledges these ${cautions.length} cautions.`}</p>
          {cautions.map((caution) => (
            <CautionCard key={caution.caution_id} caution={caution} target={nameOf(namesIn(readiness), caution.target.id, caution.target.kind.toLowerCase())} />
          ))}
        </section>
      )}
      {advisories.length > 0 && (
        <section aria-label="Worth knowing" className="sm acknowledged">
          <p className="b">Worth knowing</p>
          <ul className="dim">
            {advisories.map((advisory, index) => (
              <li key={`${advisory.kind} ${advisory.id} ${index}`}>{capital(advisoryText(advisory))}.</li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function TileKeys() {
  useKeys(Object.fromEntries([1, 2, 3, 4, 5].map((each) => [String(each), () => document.getElementById(`tile-${each}`)?.focus()])));
  return null;
}

/** Say that the Board has no past, and where the past is. */
function Past() {
  const { asOf } = useAsOf();
  const zone = useZone();
  if (!asOf) return null;
  return (
    <Callout mark="info" title="The Board shows the current state.">
      Recent events are those until {zone.time(asOf)}.{" "}
      <Link className="link" to="/equipment" search={(before: Record<string, unknown>) => ({ unit: before.unit, as_of: asOf }) as never}>
        Equipment as of {zone.time(asOf)}
      </Link>
    </Callout>
  );
}

interface PhoneProps {
  board: BoardAnswer;
  tiles: readonly TileState[];
  /** Set when the feed is lost: the time of the values. */
  asOf: string | undefined;
  verdict: Verdict;
  recent: ReturnType<typeof useRecentEvents>;
}

/** The Board on a phone: read-only. */
function Phone({ board, tiles, asOf, verdict, recent }: PhoneProps) {
  const tone = TONES[verdict.mark];
  const names = namesIn(board);
  return (
    <div className="main board phone">
      <section className={`verdict ${tone}`} aria-label="Verdict">
        <Icon name={verdict.mark} className={`v ${tone}`} />
        <div>
          <h1>{verdict.word}</h1>
          <p>{verdict.sentence}</p>
        </div>
      </section>
      <ul className="panel states">
        {tiles.map(({ key, label, value, mark }) => (
          <li key={key} className={TONES[mark] === "act" ? "" : TONES[mark]}>
            <Icon name={mark} />
            <span>{label}</span>
            <b>
              {asOf ? <span className="old-value">{value}</span> : value}
              {asOf && <span className="unk sm"> as of {asOf}</span>}
            </b>
          </li>
        ))}
      </ul>
      {(board.runs ?? []).map((run) => (
        <section key={run.id} className="panel pad" aria-label={run.name}>
          <div className="row">
            <h2 className="run-name cut">
              {run.name} <span className="dim">{run.subject_id && nameOf(names, run.subject_id, "subject")}</span>
            </h2>
            <span className="end">
              <RunState run={run} />
            </span>
          </div>
          <RunProgress run={run} />
          {run.status === "Held" && <p className="dim">Held{run.reason && `: ${run.reason}`}</p>}
        </section>
      ))}
      {recent.read.data && (
        <section className="panel pad" aria-label="Recent events">
          <EventLines events={recent.read.data} board={board} most={5} />
        </section>
      )}
      <p className="faint sm readonly-note">Read-only. Use a console to act.</p>
    </div>
  );
}
