/** Decisions: open proposals with what their proposers had read, and the agents. */
import { useLocation } from "@tanstack/react-router";
import { useEffect, useRef, type ReactNode } from "react";
import { namesIn, useRead, type Answer } from "../../api";
import { number, operationOn, operationTitle, plural, stateText } from "../../text";
import { DataTable, EmptyState, Icon, Loaded, Panel, Timestamp, Countdown, type IconName } from "../../ui";
import { useKeys, useOpen, useSearchParam, type ScreenProps } from "../../view";
import { AgentCard } from "./AgentCard";
import { DecisionDetail } from "./DecisionDetail";
import { ProposalDetail } from "./ProposalDetail";
import { decisionTitle } from "./words";
import "./decisions.css";

const TABS = ["open", "agents", "all"] as const;
type Tab = (typeof TABS)[number];

type Decision = Answer<"list_decisions">["items"][number];

interface Item {
  key: string;
  group: string;
  icon: IconName;
  title: string;
  at: string;
  note: ReactNode;
  open: () => void;
}

/** Decisions. */
export default function Decisions({ id }: ScreenProps) {
  const { pathname } = useLocation();
  const isProposal = pathname.includes("/proposals/");
  const [given, setTab] = useSearchParam("show");
  const [agentId, setAgent] = useSearchParam("agent");
  const tab: Tab = TABS.find((each) => each === given) ?? "open";
  const open = useOpen();
  const proposals = useRead("list_proposals", { limit: 100, ...(tab === "all" ? {} : { open: true }) });
  const decisions = useRead("list_decisions", { limit: 50 }, { when: tab !== "agents" });
  const cautions = useRead("list_decisions", { context: "CautionProposal", promoted: false, limit: 50 }, { when: tab === "open" });
  const risks = useRead("list_at_risk_results", { limit: 50 }, { when: tab === "open" });
  const agents = useRead("list_agents", { limit: 100 });
  const known = agents.data?.items ?? [];
  const icon = (actor: string): IconName => (known.some((agent) => agent.agent_id === actor) ? "agent" : "person");
  const shownId = id ?? (tab === "open" ? proposals.data?.items[0]?.proposal_id : undefined);
  const isShownProposal = id === undefined || isProposal;

  const waiting = cautions.data?.items ?? [];
  const atRisk = risks.data?.items ?? [];
  const listed = new Set([...waiting, ...atRisk].map(({ decision_id }) => decision_id));
  const decided = (each: Decision, group: string): Item => ({
    key: each.decision_id,
    group,
    icon: icon(each.actor_id),
    title: decisionTitle(each),
    at: each.created_at,
    note: `${nameOf({ ...namesIn(cautions.data), ...namesIn(decisions.data) }, each.actor_id)}${each.confidence === null ? "" : ` · ${each.confidence}`}`,
    open: () => open(`/decisions/${each.decision_id}`),
  });
  const items: Item[] =
    tab === "agents"
      ? known.map((agent) => ({
          key: agent.agent_id,
          group: "",
          icon: "agent",
          title: agent.name,
          at: agent.created_at,
          note: `${stateText(agent.status)} · ${stateText(agent.kind)} · ${capsOf(agent.budget)}`,
          open: () => setAgent(agent.agent_id),
        }))
      : [
          ...(proposals.data?.items ?? []).map((each): Item => ({
            key: each.proposal_id,
            group: tab === "open" ? "" : "Proposals",
            icon: icon(each.proposed_by),
            title: each.target ? operationOn(each.command_name, nameOf(namesIn(proposals.data), each.target.stream_id)) : operationTitle(each.command_name),
            at: each.created_at,
            note: (
              <>
                {nameOf(namesIn(proposals.data), each.proposed_by)} ·{" "}
                {each.open ? (
                  <>
                    expires in <Countdown until={each.expires_at} />
                  </>
                ) : each.status === "Open" ? (
                  "expired"
                ) : (
                  each.status.toLowerCase()
                )}
              </>
            ),
            open: () => open(`/proposals/${each.proposal_id}`),
          })),
          ...(tab === "open" ? waiting : []).map((each) => decided(each, "Proposed cautions")),
          ...(tab === "open" ? atRisk : []).map((each): Item => ({
            key: each.decision_id,
            group: "To look at again",
            icon: "caution",
            title: decisionTitle(each),
            at: each.occurred_at,
            note: `${nameOf(namesIn(risks.data), each.agent_id)} · ${each.reasons.map((reason) => stateText(reason).toLowerCase()).join(", ")}`,
            open: () => open(`/decisions/${each.decision_id}`),
          })),
          ...(decisions.data?.items ?? [])
            .filter(({ decision_id }) => tab === "all" || !listed.has(decision_id))
            .map((each) => decided(each, tab === "open" ? "Recorded, no answer needed" : "Decisions")),
        ];
  const current = tab === "agents" ? (agentId ?? known[0]?.agent_id) : shownId;
  const move = (step: number) => {
    const at = items.findIndex(({ key }) => key === current);
    items[Math.max(0, Math.min(items.length - 1, at + step))]?.open();
  };
  useKeys({ J: () => move(1), K: () => move(-1) });
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  }, [current]);

  const chosen = proposals.data?.items.find((each) => each.proposal_id === shownId);
  const chosenDecision = [...(decisions.data?.items ?? []), ...waiting].find((each) => each.decision_id === shownId);
  const about = tab === "agents" ? (agentId ?? known[0]?.agent_id) : (chosen?.proposed_by ?? chosenDecision?.actor_id);
  return (
    <div className="main decide">
      <h1 className="hidden">Decisions</h1>
      <Panel
        title="Decisions"
        flush
        end={
          <span className="tabs" role="group" aria-label="Which decisions">
            {TABS.map((each) => (
              <button key={each} type="button" className={each === tab ? "on" : ""} aria-pressed={each === tab} onClick={() => setTab(each)}>
                {each === "open" ? `Open${tab === "open" && proposals.data ? ` ${proposals.data.items.length + waiting.length}` : ""}` : each === "agents" ? "Agents" : "All"}
              </button>
            ))}
          </span>
        }
        footer={
          <>
            <kbd>J</kbd>
            <kbd>K</kbd> move
          </>
        }
      >
        <Loaded<unknown> read={tab === "agents" ? agents : proposals} what={tab === "agents" ? "agents" : "proposals"}>
          {() => (
            <div className="items" ref={list}>
              {tab !== "agents" && proposals.data?.items.length === 0 && (
                <div className="sec">
                  <EmptyState>No proposal is open.</EmptyState>
                </div>
              )}
              {items.map(({ key, group, icon: shape, title, at, note, open: show }, index) => (
                <div key={key}>
                  {group && group !== items[index - 1]?.group && <h3>{group}</h3>}
                  <button type="button" aria-current={key === current} onClick={show}>
                    <Icon name={shape} />
                    <b className="cut">{title}</b>
                    <Timestamp at={at} />
                    <p>{note}</p>
                  </button>
                </div>
              ))}
            </div>
          )}
        </Loaded>
      </Panel>
      {tab === "agents" && about ? (
        <Work key={`work ${about}`} id={about} />
      ) : shownId === undefined ? (
        <Panel title="Nothing selected">
          <EmptyState>Choose a proposal or a decision. {plural(items.length, "entry", "entries")} in the list.</EmptyState>
        </Panel>
      ) : isShownProposal ? (
        <ProposalDetail key={shownId} id={shownId} />
      ) : (
        <DecisionDetail key={shownId} id={shownId} />
      )}
      {about && known.some((agent) => agent.agent_id === about) ? (
        <AgentCard key={about} id={about} />
      ) : (
        <Panel title="Agent">
          <EmptyState>{about ? "A person made this." : "Choose what an agent has made, and its budget and its tools are shown here."}</EmptyState>
        </Panel>
      )}
    </div>
  );
}

function nameOf(names: Record<string, { name: string } | undefined>, id: string): string {
  return names[id]?.name ?? "no access";
}

/** Return the limits of an agent in few words. */
function capsOf(budget: Answer<"list_agents">["items"][number]["budget"]): string {
  const caps = [
    budget?.daily_token_cap != null && `${number(budget.daily_token_cap)} tokens a day`,
    budget?.monthly_usd_cap != null && `$ ${budget.monthly_usd_cap.toFixed(2)} a month`,
    budget?.daily_action_cap != null && `${number(budget.daily_action_cap)} changes a day`,
  ].filter((cap) => cap !== false);
  return caps.join(", ") || "no budget";
}

/** Show what an agent has decided, newest first. */
function Work({ id }: { id: string }) {
  const read = useRead("list_decisions", { actor_id: id, limit: 100 });
  const open = useOpen();
  return (
    <Panel title="Decisions of this agent" note={read.data && plural(read.data.items.length, "decision")} flush>
      <Loaded read={read} what="decisions" operation="list_decisions">
        {({ items }) => (
          <DataTable
            label="Decisions of this agent"
            rows={items}
            rowKey={({ decision_id }) => decision_id}
            open={({ decision_id }) => open(`/decisions/${decision_id}`)}
            empty="This agent has decided nothing."
            columns={[
              { key: "at", title: "Time", cell: ({ created_at }) => <Timestamp at={created_at} /> },
              { key: "what", title: "Decision", cell: (each) => <b className="b">{decisionTitle(each)}</b> },
              { key: "sure", title: "Confidence", cell: ({ confidence }) => confidence ?? <span className="faint">none</span>, sort: ({ confidence }) => confidence },
              {
                key: "rated",
                title: "Ratings",
                cell: ({ ratings }) =>
                  Object.values(ratings)
                    .map(({ rating }) => rating)
                    .join(", ") || <span className="faint">none</span>,
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}
