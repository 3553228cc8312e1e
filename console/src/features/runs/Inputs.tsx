/** What a run was made with and what came of it: the panel at the right. */
import type { ReactNode } from "react";
import { namesIn, useRead, type Answer } from "../../api";
import { bytes, markOf, plural, quantity, stateText, unitSymbol } from "../../text";
import { useAsOf, useZone } from "../../time";
import { Icon, Loaded, ObjectName, StateMark, Timestamp, type IconName } from "../../ui";

type Run = Answer<"get_run">;
type Method = Answer<"get_method">;
type Node = Answer<"get_asset_tree">["nodes"][number];

export function Inputs({ run, method, used }: { run: Run; method: Method | undefined; used: readonly Node[] }) {
  return (
    <section className="panel" aria-label="Inputs and results of the run">
      <Parameters run={run} method={method} />
      <Calibrations run={run} />
      <Cautions run={run} />
      <Decisions run={run} />
      <Datasets run={run} />
      <Equipment run={run} used={used} />
    </section>
  );
}

function Section({ icon, title, children }: { icon: IconName; title: string; children: ReactNode }) {
  return (
    <div className="sec">
      <h3>
        <Icon name={icon} />
        {title}
      </h3>
      {children}
    </div>
  );
}

function Item({ icon, end, under, children }: { icon: IconName; end?: ReactNode; under?: ReactNode; children: ReactNode }) {
  return (
    <li className="item">
      <Icon name={icon} />
      <div>
        {children}
        {under !== undefined && <div className="dim sm">{under}</div>}
      </div>
      <span className="row">{end}</span>
    </li>
  );
}

const NO_ITEMS = (what: string) => <p className="dim sm">{what}</p>;

/** Return a value of a parameter as a person writes it. */
function written(value: unknown, unit?: string): string {
  if (typeof value === "number") return quantity(value, unit);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return unit ? `${text} ${unitSymbol(unit)}` : text;
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** Return the units of the parameters, as the method declares them. */
function unitsOf(method: Method | undefined): Record<string, string | undefined> {
  const { properties = {} } = (method?.parameters_schema ?? {}) as { properties?: Record<string, { unit?: { code?: string } }> };
  return Object.fromEntries(Object.entries(properties).map(([name, { unit }]) => [name, unit?.code]));
}

/** The parameters that an adjustment changes, as they are and as they would be. */
export function ParameterChanges({ run, method, patch }: { run: Run; method: Method | undefined; patch: unknown }) {
  const units = unitsOf(method);
  const now = run.effective_parameters as Record<string, unknown>;
  const changed = Object.entries((patch ?? {}) as Record<string, unknown>).filter(([name, value]) => value !== undefined && value !== "" && textOf(value) !== textOf(now[name]));
  if (changed.length === 0) return null;
  return (
    <table className="params" aria-label="Changes">
      <tbody>
        {changed.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td className="r">
              <del className="was">{name in now ? written(now[name], units[name]) : "none"}</del> <b className="b">{value === null ? "removed" : written(value, units[name])}</b>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Parameters({ run, method }: { run: Run; method: Answer<"get_method"> | undefined }) {
  const plan = useRead("get_plan", { plan_id: run.plan_id, as_of: run.created_at }, { current: true });
  const defaults = (plan.data?.default_parameters ?? {}) as Record<string, unknown>;
  const overrides = run.override_parameters as Record<string, unknown>;
  const units = unitsOf(method);
  const entries = Object.entries(run.effective_parameters as Record<string, unknown>);
  return (
    <Section icon="gauge" title="Parameters">
      {entries.length === 0 ? (
        NO_ITEMS("This run has no parameters.")
      ) : (
        <table className="params" aria-label="Parameters">
          <tbody>
            {entries.map(([name, value]) => {
              const isPlanned = !plan.data || isSame(defaults[name], value);
              return (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td className="r">
                    {!isPlanned && name in defaults && <del className="was">{written(defaults[name])}</del>} <b className="b">{written(value, units[name])}</b>
                  </td>
                  <td className="xs r dim">{plan.data ? (isPlanned ? "plan" : isSame(overrides[name], value) ? "override" : "adjusted") : ""}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </Section>
  );
}

function Calibrations({ run }: { run: Run }) {
  return (
    <Section icon="link" title="Pinned calibrations">
      {run.pinned_calibration_ids.length === 0 ? (
        NO_ITEMS("No calibration is pinned.")
      ) : (
        <ul>
          {run.pinned_calibration_ids.map((id) => (
            <Calibration key={id} id={id} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function Calibration({ id }: { id: string }) {
  const read = useRead("get_calibration_revision", { revision_id: id });
  return (
    <Loaded read={read} what="a calibration" operation="get_calibration_revision">
      {(revision) => (
        <Item
          icon="gauge"
          end={<StateMark as="chip" state={revision.status} schema="RevisionStatus" />}
          under={
            <>
              at {plainly(revision.operating_point)} · {revision.source.kind.toLowerCase()} <Timestamp at={revision.established_at} />
              {revision.superseded_by_revision_id && <span className="warn"> · superseded since</span>}
            </>
          }
        >
          <ObjectName id={id} kind="CalibrationRevision" name={stateText(revision.quantity)} plain /> {plainly(revision.value)}
        </Item>
      )}
    </Loaded>
  );
}

/** Return a small object as words: «energy 25, optics 5x»; an uncertainty follows its value. */
function plainly({ uncertainty, ...value }: Record<string, unknown>): string {
  const text = Object.entries(value)
    .map(([name, each]) => `${name.replaceAll("_", " ")} ${written(each)}`)
    .join(", ");
  return uncertainty === undefined || uncertainty === null ? text : `${text} ± ${written(uncertainty)}`;
}

function Cautions({ run }: { run: Run }) {
  return (
    <Section icon="caution" title="Acknowledged cautions">
      {run.acknowledged_cautions.length === 0 ? (
        NO_ITEMS("No caution was in effect at the start.")
      ) : (
        <ul>
          {run.acknowledged_cautions.map(({ caution_id, severity }) => (
            <Acknowledged key={caution_id} id={caution_id} severity={severity} at={run.created_at} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function Acknowledged({ id, severity, at }: { id: string; severity: string; at: string }) {
  const caution = useRead("get_caution", { caution_id: id, as_of: at }, { current: true });
  return (
    <Item icon="info" under={<>acknowledged at start, {<Timestamp at={at} />}</>}>
      <b className="b">{severity}</b> {caution.data?.text ?? (caution.problem ? "caution (no access)" : "…")}
    </Item>
  );
}

function Decisions({ run }: { run: Run }) {
  const decisions = useRead("list_decisions", { run_id: run.run_id, limit: 20 });
  const names = namesIn(decisions.data);
  const { asOf } = useAsOf();
  const zone = useZone();
  return (
    <Section icon="decision" title={asOf ? "Decisions (current)" : "Decisions"}>
      <Loaded read={decisions} what="decisions" operation="list_decisions">
        {({ items }) =>
          items.length === 0 ? (
            NO_ITEMS("No decision was recorded about this run.")
          ) : (
            <ul>
              {items.map((decision) => (
                <Item
                  key={decision.decision_id}
                  icon={names[decision.actor_id]?.kind === "Agent" ? "agent" : "person"}
                  end={<ObjectName id={decision.decision_id} kind="Decision" name="Open" plain />}
                  under={`${zone.time(decision.created_at)} · ${stateText(decision.context)}${decision.confidence === null ? "" : ` · confidence ${decision.confidence}`}`}
                >
                  <b className="b">{names[decision.actor_id]?.name ?? "person (no access)"}</b> chose {stateText(decision.choice)}
                </Item>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  );
}

function Datasets({ run }: { run: Run }) {
  const datasets = useRead("list_datasets", { producing_run_id: run.run_id, limit: 20 });
  const { asOf } = useAsOf();
  return (
    <Section icon="data" title={asOf ? "Datasets (current)" : "Datasets"}>
      <Loaded read={datasets} what="datasets" operation="list_datasets">
        {({ items }) =>
          items.length === 0 ? (
            NO_ITEMS("No dataset is registered for this run.")
          ) : (
            <ul>
              {items.map((dataset) => (
                <Item
                  key={dataset.dataset_id}
                  icon="data"
                  end={<StateMark as="chip" state={dataset.intent} schema="DatasetIntent" />}
                  under={`${dataset.derived_from.length > 0 ? "derived" : "raw"} · ${stateText(dataset.status)}${dataset.file_count ? ` · ${plural(dataset.file_count, "file")}` : ""}`}
                >
                  <ObjectName id={dataset.dataset_id} kind="Dataset" name={dataset.name} plain /> {bytes(dataset.byte_size)}
                </Item>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  );
}

/** The assets of the run as they were at its start. */
function Equipment({ run, used }: { run: Run; used: readonly Node[] }) {
  const names = namesIn(run);
  const rows = run.asset_ids.map((id) => ({ id, node: used.find((each) => each.id === id) }));
  const isAllNormal = rows.every(({ node }) => node && isNormal(node));
  return (
    <Section icon="equipment" title="Equipment at start">
      <ul className="row wrap">
        {rows.map(({ id, node }) => (
          <li key={id} className="chip">
            {node && isNormal(node) && <Icon name="normal" />}
            <ObjectName id={id} names={names} kind="Asset" plain />
            {node && !isNormal(node) && (
              <>
                <StateMark state={node.lifecycle} schema="AssetLifecycle" />
                <StateMark state={node.condition} schema="AssetCondition" />
              </>
            )}
          </li>
        ))}
      </ul>
      <p className="dim sm at-start">
        {isAllNormal ? `All ${stateText(used[0]?.lifecycle ?? "")} and ${stateText(used[0]?.condition ?? "")} at ` : "As recorded at "}
        <Timestamp at={run.created_at} />
      </p>
    </Section>
  );
}

/** A state is normal when its shape is. */
const isNormal = ({ lifecycle, condition }: Node) => markOf(lifecycle, "AssetLifecycle") === "normal" && markOf(condition, "AssetCondition") === "normal";

/** Return a value as text; a number that was typed is equal to the number. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
