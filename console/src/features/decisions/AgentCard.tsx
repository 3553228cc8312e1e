import { commandsFrom, isFinal, OperationButton } from "../../actions";
import { useRead } from "../../api";
import { useMe } from "../../auth";
import { number, plural, stateText, type Tone } from "../../text";
import { ActionButton, EmptyState, Icon, Loaded, Meter, Panel, Popover, StateMark, Timestamp } from "../../ui";

const NEARLY = 0.9;
const tone = (value: number, of: number): Tone => (value >= of ? "alarm" : value >= of * NEARLY ? "warn" : "");

/** Show an agent: its budget, its tools, its proposals and its denied calls. */
export function AgentCard({ id }: { id: string }) {
  const read = useRead("get_agent", { agent_id: id });
  const agent = read.data;
  const about = { agent_id: id };
  const states: Record<string, string> = agent ? { status: agent.status } : {};
  return (
    <Panel
      title={agent?.name ?? "Agent"}
      icon="agent"
      note={agent?.version}
      end={agent && <StateMark as="chip" state={agent.status} schema="AgentStatus" />}
      flush
      footer={
        agent && (
          <>
            {commandsFrom("Agent", states)
              .filter((each) => !isFinal(each))
              .map((operation) => (
                <OperationButton key={operation} operation={operation} about={about} name={agent.name} etag={read.etag} />
              ))}
            <Popover
              label="Tools and budget"
              align="right"
              button={({ isOpen, toggle, id: pop }) => (
                <ActionButton press={toggle} opens={{ isOpen, id: pop }}>
                  Tools and budget…
                </ActionButton>
              )}
            >
              {() => (
                <div className="pad stack">
                  <OperationButton operation="update_agent_budget" about={about} name={agent.name} etag={read.etag} initial={{ ...agent.budget }}>
                    Budget
                  </OperationButton>
                  <OperationButton operation="grant_agent_tool" about={about} name={agent.name} etag={read.etag}>
                    Grant a tool
                  </OperationButton>
                  <OperationButton operation="revoke_agent_tool" about={about} name={agent.name} etag={read.etag}>
                    Revoke a tool
                  </OperationButton>
                </div>
              )}
            </Popover>
          </>
        )
      }
    >
      <Loaded read={read} what="the agent" operation="get_agent">
        {(shown) => (
          <>
            <div className="sec">
              <h3>Budget</h3>
              <Budget label="Tokens today" value={shown.tokens_today} of={shown.budget?.daily_token_cap ?? null} text={number} />
              <Budget label="Cost this month" value={shown.usd_this_month} of={shown.budget?.monthly_usd_cap ?? null} text={(usd) => `$ ${usd.toFixed(2)}`} />
              {shown.budget?.daily_action_cap != null && <Budget label="Changes today" value={shown.actions_today} of={shown.budget.daily_action_cap} text={number} />}
              <Costs id={id} />
            </div>
            <Tools id={id} tools={shown.tools} />
            <Outcomes id={id} />
            <Denials id={id} />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

/** Show the tools of an agent by what its policies make of them. */
function Tools({ id, tools }: { id: string; tools: readonly string[] }) {
  const { data } = useRead("list_policies", { permitted_principal_id: id, limit: 100 });
  const named = (field: "permitted_commands" | "proposable_commands") => new Set(data?.items.flatMap((policy) => policy[field]));
  const [permitted, proposable] = [named("permitted_commands"), named("proposable_commands")];
  const isPermitted = (tool: string) => permitted.has(tool) || permitted.has("*");
  const groups: readonly (readonly [string, readonly string[]])[] = data
    ? [
        ["Permitted", tools.filter(isPermitted)],
        ["Needs approval", tools.filter((tool) => !isPermitted(tool) && proposable.has(tool))],
        ["Granted, but no policy permits it", tools.filter((tool) => !isPermitted(tool) && !proposable.has(tool))],
      ]
    : [["Tools", tools]];
  return (
    <div className="sec">
      {tools.length === 0 && (
        <>
          <h3>Tools</h3>
          <EmptyState>No tool is granted.</EmptyState>
        </>
      )}
      {groups.map(
        ([title, names]) =>
          names.length > 0 && (
            <div key={title} className="tool-group">
              <h3>{title}</h3>
              <div className="tools">
                {names.map((tool) => (
                  <span key={tool} className="chip">
                    {title === "Needs approval" && <Icon name="person" />}
                    {tool}
                  </span>
                ))}
              </div>
            </div>
          ),
      )}
    </div>
  );
}

function Budget({ label, value, of, text }: { label: string; value: number; of: number | null; text: (value: number) => string }) {
  return (
    <div className="budget">
      <div className="row sm between">
        <span>{label}</span>
        <span>
          <b className="b">{text(value)}</b> <span className="dim">{of === null ? "no limit" : `of ${text(of)}`}</span>
        </span>
      </div>
      {of !== null && <Meter value={value} of={of} label={label} tone={tone(value, of)} />}
    </div>
  );
}

/** Show what the newest days cost. */
function Costs({ id }: { id: string }) {
  const { data } = useRead("list_agent_costs", { agent_id: id, limit: 7 });
  if (!data || data.items.length === 0) return null;
  return (
    <ul className="plain-list">
      {data.items.map((day) => (
        <li key={day.day}>
          <span className="dim">{day.day}</span>
          <span>
            {plural(day.calls, "call")}, $ {day.cost_usd.toFixed(2)}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Count the proposals of an agent by how they ended. */
function Outcomes({ id }: { id: string }) {
  const read = useRead("list_proposals", { proposed_by: id, limit: 100 });
  return (
    <div className="sec">
      <h3>Proposals{read.data?.next_cursor ? ", newest 100" : ""}</h3>
      <Loaded read={read} what="proposals">
        {({ items }) => {
          const counts = new Map<string, number>();
          for (const each of items) {
            const word = each.status === "Open" && !each.open ? "Expired" : each.status;
            counts.set(word, (counts.get(word) ?? 0) + 1);
          }
          if (items.length === 0) return <EmptyState>None.</EmptyState>;
          return (
            <ul className="plain-list">
              {[...counts].map(([word, count]) => (
                <li key={word}>
                  <span>{word}</span>
                  <b className="b">{count}</b>
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
    </div>
  );
}

/** Show the newest denied calls of an agent on the conduit of this console. */
function Denials({ id }: { id: string }) {
  const me = useMe();
  const surface = useRead("get_surface", { surface_id: me.data?.surface.surface_id ?? "" }, { when: me.data !== undefined, current: true });
  const conduit = surface.data?.conduit_id;
  const read = useRead("list_conduit_denials", { conduit_id: conduit ?? "", principal_id: id, limit: 5 }, { when: conduit !== undefined });
  if (!conduit) return null;
  return (
    <div className="sec">
      <h3>Newest denied calls</h3>
      <Loaded read={read} what="denials" operation="list_conduit_denials">
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState>None.</EmptyState>
          ) : (
            <ul className="plain-list">
              {items.map((each) => (
                <li key={each.denial_id}>
                  <span className="dim">
                    <Timestamp at={each.occurred_at} />
                  </span>
                  <span>
                    {each.command_name}, {stateText(each.reason_code).toLowerCase()}
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </div>
  );
}
