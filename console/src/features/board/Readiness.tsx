/** The start checks of a plan, in the order of the service. */
import { useRead, type Read } from "../../api";
import { Remedies } from "../../actions";
import { useNow, useZone } from "../../time";
import { CheckRow, EmptyState, Failure, Icon, Panel, Popover, Skeleton, StateMark } from "../../ui";
import { abnormalFacts, factText, markOfFact, stateText, stateWord, TONES } from "../../text";
import { failureText, faultsByPlan, faultText, isUnknown, parametersText, type Check, type Fault, type Readiness } from "./reading";
import type { Choice } from "./useChoice";

const MOST_FACTS = 3;

interface Props {
  choice: Choice;
  readiness: Read<Readiness>;
  /** The faulted assets of the beamline. */
  faults: readonly Fault[];
}

/** Show every start check of the selected plan; failing ones with their facts and what clears them. */
export function ReadinessPanel({ choice, readiness, faults }: Props) {
  const zone = useZone();
  const { data, at } = readiness;
  const passing = data?.checks.filter(({ passed }) => passed).length ?? 0;
  const { ofPlan, others } = faultsByPlan(faults, data ?? { checks: [] });
  return (
    <Panel
      title="Readiness"
      className="readiness"
      flush
      end={<PlanChoice choice={choice} />}
      footer={
        data && (
          <>
            <Icon name={data.ready ? "normal" : "info"} />
            <span className="nowrap">
              {passing} of {data.checks.length} checks pass.{at !== undefined && ` Updated ${zone.time(at)}.`}
            </span>
            {data.advisories.length > 0 && (
              <span className="cut" title={data.advisories.map(advisoryText).join(", ")}>
                Worth knowing: {data.advisories.map(advisoryText).join(", ")}
              </span>
            )}
          </>
        )
      }
    >
      {choice.planId === undefined ? (
        <div className="pad">
          <EmptyState>No plan is selected. Select one above, or press P.</EmptyState>
        </div>
      ) : data ? (
        <ul className="checks">
          {data.checks.map((check) => (
            <CheckLine key={check.check} check={check} choice={choice} faults={check.check === "assets" ? ofPlan : NONE} />
          ))}
          {others.length > 0 && (
            <CheckRow name="Equipment" passes isCaution>
              <b className="b">{faultText(others)}</b>, not among the assets of this plan
            </CheckRow>
          )}
        </ul>
      ) : (
        <div className="pad">
          {readiness.problem ? <Failure problem={readiness.problem} what="readiness" operation="get_plan_readiness" again={readiness.again} /> : <Skeleton what="readiness" />}
        </div>
      )}
    </Panel>
  );
}

/** «Fossils in resin is Active», «Running on Shutter, Rotation» */
export function advisoryText({ kind, name, state, until }: Readiness["advisories"][number]): string {
  if (kind === "Run") return `a run is ${stateText(state)} on ${name}`;
  // The service names other objects in these states by their ids, which are not shown.
  const shown = state.replace(/ asset [0-9a-f-]{36}/, " an asset").replace(/ [0-9a-f-]{36}$/, "");
  return kind === "Clearance" && until ? `${name} ends before the plan` : `${name}: ${stateWord(shown) === shown ? stateText(shown) : shown}`;
}

const NONE: readonly Fault[] = [];

function CheckLine({ check, choice, faults }: { check: Check; choice: Choice; faults: readonly Fault[] }) {
  const passing = usePassing(check, choice);
  if (check.passed && faults.length > 0)
    return (
      <CheckRow name={stateText(check.check)} passes isCaution>
        <b className="b">{faultText(faults)}</b> · {passing}
      </CheckRow>
    );
  if (check.passed)
    return (
      <CheckRow name={stateText(check.check)} passes>
        {passing}
      </CheckRow>
    );
  const facts = abnormalFacts(check.facts);
  const abnormal = facts.filter((fact) => TONES[markOfFact(fact)] !== "");
  const left = abnormal.length - MOST_FACTS;
  const values = { plan_id: choice.planId, subject_id: choice.subjectId };
  return (
    <CheckRow
      name={stateText(check.check)}
      passes={isUnknown(check) ? undefined : false}
      actions={
        <>
          {(facts.length > 0 ? facts.slice(0, 1) : [undefined]).map((fact) => (
            <Remedies key={fact?.id ?? "none"} operations={check.cleared_by} fact={fact && { ...fact, state: stateWord(fact.state) }} values={values} />
          ))}
          {check.cleared_by.length === 0 && <span className="xs">{nobodyClears(check)}</span>}
        </>
      }
    >
      {abnormal.length === 0 ? (
        <b className="b">{failureText(check)}.</b>
      ) : (
        abnormal.slice(0, MOST_FACTS).map((fact) => (
          <span key={fact.id ?? fact.name} className="fact-line">
            <b className="b">{factText(fact)}</b>
            {fact.until && <Until until={fact.until} />}
          </span>
        ))
      )}
      {left > 0 && <span className="fact-line">and {left} more</span>}
    </CheckRow>
  );
}

/** Who changes the state of what a check found, when no operation does. */
const REPORTERS: Partial<Record<string, string>> = { Enclosure: "Only the interlock can clear this." };

function nobodyClears(check: Check): string {
  const [fact] = abnormalFacts(check.facts);
  return REPORTERS[fact?.kind ?? ""] ?? "No operation clears this. Select another plan, or wait.";
}

function Until({ until }: { until: string }) {
  const zone = useZone();
  const now = useNow(0);
  return <span> until {zone.stamp(until, now)}</span>;
}

/** Return what a passing check found. */
function usePassing(check: Check, { planId, plan }: Choice): string | null | undefined {
  const zone = useZone();
  const now = useNow(60_000);
  const isParameters = check.check === "parameters" && check.passed;
  const method = useRead("get_method", { method_id: plan?.method_id ?? "" }, { when: isParameters && plan !== undefined, current: true });
  const [first] = check.facts;
  const until = first?.until ? ` until ${zone.isSameDay(first.until, now) ? zone.minute(first.until) : zone.stamp(first.until, now)}` : "";
  if (planId === undefined) return null;
  switch (check.check) {
    case "parameters":
      return plan ? parametersText(plan.default_parameters, method.data?.parameters_schema) : first?.name;
    case "units":
      return first ? `As ${first.name} declares them` : "As declared";
    case "plan":
      return [first?.name, plan?.version_tag && `version ${plan.version_tag}`].filter(Boolean).join(" · ");
    case "window":
      return until ? `Open${until}` : "Open without an end";
    case "subject":
      return first ? factText(first) : "No subject";
    case "assets":
      return namesOf(check);
    case "families":
      return `Covered by ${namesOf(check)}`;
    case "clearance":
      return first ? `${factText(first)}${until}` : "None needed";
    case "supply":
    case "enclosure":
      return check.facts.length === 0 ? "None needed" : check.facts.map((fact) => `${fact.name} ${stateText(stateWord(fact.state))}`).join(" · ");
    default:
      return namesOf(check);
  }
}

const namesOf = ({ facts }: Check) => (facts.length > 0 ? facts.map(({ name }) => name).join(", ") : "Nothing to check");

/** Choose the plan and the subject of the next run. */
function PlanChoice({ choice }: { choice: Choice }) {
  const { planId, plan, plans, subjectId, subjects, choose, chooseSubject } = choice;
  return (
    <Popover
      label="Plan and subject"
      align="right"
      button={({ isOpen, toggle, id }) => (
        <button type="button" id="board-plan" className="btn quiet plan-choice" aria-expanded={isOpen} aria-controls={id} onClick={toggle}>
          <span className="cut">{plan?.name ?? (planId ? "Plan (no access)" : "Select a plan")}</span>
          <Icon name="down" />
        </button>
      )}
    >
      {(close) => (
        <div className="plan-list">
          <p className="xs faint pad">Plan</p>
          {plans.length === 0 && <p className="pad sm dim">No plan uses the assets of this beamline.</p>}
          {plans.map((each) => (
            <Item
              key={each.plan_id}
              isChosen={each.plan_id === planId}
              press={() => {
                choose(each.plan_id);
                close();
              }}
              name={each.name}
              state={each.status}
            />
          ))}
          {subjects.length > 0 && (
            <>
              <p className="xs faint pad">Subject</p>
              {subjects.map((each) => (
                <Item
                  key={each.subject_id}
                  isChosen={each.subject_id === subjectId}
                  press={() => {
                    chooseSubject(each.subject_id);
                    close();
                  }}
                  name={each.name}
                  state={each.status}
                />
              ))}
            </>
          )}
        </div>
      )}
    </Popover>
  );
}

function Item({ isChosen, press, name, state }: { isChosen: boolean; press: () => void; name: string; state: string }) {
  return (
    <button type="button" className="item" aria-current={isChosen} onClick={press}>
      <Icon name={isChosen ? "normal" : "none"} />
      <span className="cut grow">{name}</span>
      <StateMark state={state} />
    </button>
  );
}
