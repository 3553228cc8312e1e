import { useEffect, useState } from "react";
import { isOperation, OperationButton, OperationSheet, Remedies } from "../../actions";
import { namesIn, Problem, routes, useRead, type Answer, type CommandName, type DryRunAnswer, type Names } from "../../api";
import { useMe } from "../../auth";
import { useFeed } from "../../feed";
import { fieldLabel, operationOn, operationTitle, plainText, unitSymbol } from "../../text";
import { Callout, Countdown, DryRun, Icon, Loaded, ObjectName, Panel, Refusal, StateMark, Timestamp, type Values } from "../../ui";
import { ReasoningOf } from "./Reasoning";
import { ShownValue } from "./words";

type Proposal = Answer<"get_proposal">;
/** Show one proposal as the form it would fill, with its reasons and what an approval would write now. */
export function ProposalDetail({ id }: { id: string }) {
  const read = useRead("get_proposal", { proposal_id: id });
  const agents = useRead("list_agents", { limit: 100 });
  const me = useMe();
  const proposal = read.data;
  const isAgent = agents.data?.items.some((agent) => agent.agent_id === proposal?.proposed_by) ?? false;
  const isOwn = proposal !== undefined && proposal.proposed_by === me.data?.actor_id;
  const target = proposal?.target?.stream_id;
  const { listen } = useFeed();
  const { again } = read;
  // What an approval would write depends on the target, which is another object than the proposal.
  useEffect(() => (target === undefined ? undefined : listen(({ streamid }) => streamid === target && again())), [again, listen, target]);
  return (
    <Panel
      title={proposal ? titleOf(proposal) : "Proposal"}
      className="proposal"
      flush
      end={proposal && <StateMark as="chip" state={proposal.status === "Open" && !proposal.open ? "Expired" : proposal.status} kind="Proposal" />}
      footer={proposal?.open && <Answers proposal={proposal} etag={read.etag} isOwn={isOwn} />}
    >
      <Loaded read={read} what="the proposal" operation="get_proposal">
        {(shown) => {
          const names = namesIn(shown);
          return (
            <>
              <div className="sec">
                <p className="dim">
                  Proposed by <ObjectName id={shown.proposed_by} names={names} plain />.{" "}
                  {shown.open ? (
                    <>
                      Expires in <Countdown until={shown.expires_at} />. An approval runs the command in the name of the person who approves.
                    </>
                  ) : shown.status === "Open" ? (
                    <>
                      Expired <Timestamp at={shown.expires_at} />.
                    </>
                  ) : (
                    <>
                      {shown.status} by <ObjectName id={shown.closed_by} names={names} plain />
                      {shown.closed_reason && `: ${shown.closed_reason}`}
                    </>
                  )}
                </p>
              </div>
              <Given proposal={shown} names={names} />
              {shown.note && (
                <div className="sec">
                  <h3>
                    <Icon name="note" />
                    {isAgent ? "Note to the approver (text from the agent)" : "Note to the approver"}
                  </h3>
                  <p className="said">{shown.note}</p>
                </div>
              )}
              {shown.decision_id && <ReasoningOf id={shown.decision_id} isAgent={isAgent} />}
              <div className="sec">
                <Now proposal={shown} at={read.at} />
              </div>
            </>
          );
        }}
      </Loaded>
    </Panel>
  );
}

/** Return what a proposal would do: «Adjust Run 1». */
function titleOf(proposal: Proposal): string {
  const target = proposal.target ? namesIn(proposal)[proposal.target.stream_id]?.name : undefined;
  return target ? operationOn(proposal.command_name, target) : operationTitle(proposal.command_name);
}

/** Show the arguments of the proposed command; parameters that differ from the run or the plan are outlined. */
function Given({ proposal, names }: { proposal: Proposal; names: Names }) {
  const given: Values = proposal.arguments;
  const planId = typeof given.plan_id === "string" ? given.plan_id : "";
  const runId = typeof given.run_id === "string" ? given.run_id : "";
  const plan = useRead("get_plan", { plan_id: planId }, { when: planId !== "", current: true });
  const run = useRead("get_run", { run_id: runId }, { when: runId !== "", current: true });
  const methodId = plan.data?.method_id ?? run.data?.method_id;
  const method = useRead("get_method", { method_id: methodId ?? "" }, { when: methodId !== undefined, current: true });
  const declared = (method.data?.parameters_schema as { properties?: Record<string, { unit?: { code?: string; label?: string } }> } | null | undefined)?.properties ?? {};
  const before = (plan.data?.default_parameters ?? run.data?.effective_parameters ?? {}) as Values;
  const holder = plan.data ? "plan default" : "the run has";
  const nested = Object.entries(given).filter(([name, value]) => isParameters(name, value)) as [string, Values][];
  const known = new Set<unknown>([null, proposal.target?.stream_id, proposal.decision_id]);
  const plain = Object.entries(given).filter(([name, value]) => !isParameters(name, value) && !known.has(value));
  const own: Values = Object.fromEntries(nested.flatMap(([, value]) => Object.entries(value)));
  const parameters: Values = { ...before, ...own };
  const isChanged = (name: string) => name in own && JSON.stringify(own[name]) !== JSON.stringify(before[name]);
  return (
    <div className="sec">
      <dl className="given">
        {Object.entries(parameters).map(([name, value]) => {
          const unit = unitSymbol(declared[name]?.unit?.label ?? declared[name]?.unit?.code);
          return (
            <div key={name} className={isChanged(name) ? "changed" : ""}>
              <dt>
                {fieldLabel(name)}
                {!isChanged(name)
                  ? name in before
                    ? `, ${plan.data ? "plan default" : "unchanged"}`
                    : ""
                  : before[name] === undefined
                    ? ", given"
                    : `, ${holder} ${plainText(before[name])}`}
              </dt>
              <dd>
                <ShownValue value={value} names={names} /> <span className="sm">{unit}</span>
              </dd>
            </div>
          );
        })}
        {plain.map(([name, value]) => (
          <div key={name}>
            <dt>{fieldLabel(name)}</dt>
            <dd className="text">
              <ShownValue value={value} names={names} />
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

const isParameters = (name: string, value: unknown) => name.includes("parameters") && typeof value === "object" && value !== null && !Array.isArray(value);

/** Show what an approval would write at this moment, or why it would be refused. */
function Now({ proposal, at = 0 }: { proposal: Proposal; at?: number | undefined }) {
  const { now } = proposal;
  if (proposal.status === "Open" && !proposal.open) return <p className="dim sm">The proposal has expired and cannot be approved any more.</p>;
  if (!now) return <p className="dim sm">The proposal is closed; nothing is left to approve.</p>;
  if (now.refusal) {
    const problem = new Problem(Number(now.refusal.status ?? 409), now.refusal);
    return (
      <Refusal
        problem={problem}
        at={at}
        isDryRun
        remedies={(operations, fact) => <Remedies operations={operations.filter(isOperation)} fact={fact} values={proposal.arguments} />}
      />
    );
  }
  if (now.events) return <DryRun answer={{ events: now.events as unknown as DryRunAnswer["events"] }} at={at} />;
  return (
    <Callout mark="unknown" title="What an approval would write is not known.">
      You may not run {operationTitle(proposal.command_name).toLowerCase()}, or the service could not preview it.
    </Callout>
  );
}

/** The answers that a person can give. */
function Answers({ proposal, etag, isOwn }: { proposal: Proposal; etag: string | undefined; isOwn: boolean }) {
  const [isCarriedOut, setCarriedOut] = useState(false);
  const about = { proposal_id: proposal.proposal_id };
  if (isOwn)
    return (
      <>
        <OperationButton operation="withdraw_proposal" about={about} etag={etag} states={{ status: proposal.status }} isTerminal={false} />
        <span className="why">Your own proposal: only another person can approve it.</span>
      </>
    );
  const command = isOperation(proposal.command_name) ? (proposal.command_name as CommandName) : undefined;
  const path = command ? routes[command].path : "";
  const isAsked = ([name]: [string, unknown]) => !path.includes(`{${name}}`);
  const given = Object.entries(proposal.arguments);
  return (
    <>
      <OperationButton
        operation="approve_proposal"
        about={{ ...about, ...(proposal.now?.basis && { basis: proposal.now.basis }) }}
        etag={etag}
        states={{ status: proposal.status }}
        look="main"
        icon="progress"
      >
        Approve
      </OperationButton>
      {command && (
        <OperationButton
          operation={command}
          about={Object.fromEntries(given.filter((each) => !isAsked(each)))}
          initial={Object.fromEntries(given.filter(isAsked))}
          name={proposal.target ? namesIn(proposal)[proposal.target.stream_id]?.name : undefined}
          done={() => setCarriedOut(true)}
        >
          With changes
        </OperationButton>
      )}
      <OperationButton operation="reject_proposal" about={about} etag={etag} states={{ status: proposal.status }} isTerminal={false} />
      {isCarriedOut && (
        <OperationSheet
          operation="reject_proposal"
          about={about}
          initial={{ reason: "Carried out with changes" }}
          isTerminal={false}
          lead={<p>Your own command was carried out. Close the proposal, so that nobody approves it as well.</p>}
          close={() => setCarriedOut(false)}
        />
      )}
    </>
  );
}
