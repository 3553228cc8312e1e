import { Suspense, useState } from "react";
import { OperationButton, OperationSheet, type OperationFormProps } from "../../actions";
import { namesIn, routes, useRead, type Answer, type CommandName, type RecordedEvent } from "../../api";
import { useMay } from "../../auth";
import { eventText, fieldLabel, markOf, number, operationTitle, plural, reasonIn, stateText, TONES, unitSymbol } from "../../text";
import { length, useAsOf, useNow, useZone } from "../../time";
import { AxisTrack, Callout, CopyButton, Icon, Loaded, ObjectName, Popover, StateMark, Timestamp, type DomainSchema } from "../../ui";
import { useKeys } from "../../view";
import type { TreeNode } from "./index";

type Asset = Answer<"get_asset">;

const LIFECYCLE = ["Commissioned", "Active", "Maintenance", "Decommissioned"] as const;
const CONDITION = ["Nominal", "Degraded", "Faulted"] as const;

/** The commands that move one of the two axes, and those that change the rest. */
const MOVES: readonly CommandName[] = [
  "fault_asset",
  "degrade_asset",
  "restore_asset",
  "activate_asset",
  "enter_asset_maintenance",
  "exit_asset_maintenance",
];
const OTHERS: readonly CommandName[] = [
  "register_caution",
  "locate_asset",
  "relocate_asset",
  "install_asset",
  "uninstall_asset",
  "update_asset_settings",
  "rename_asset",
  "add_asset_family",
  "add_asset_alternate_identifier",
  "assign_asset_external_id",
  "define_calibration",
  "decommission_asset",
];

/** Show one asset: its two axes, where it is, its settings and its history. */
export function Detail({ assetId, nodes, select }: { assetId: string; nodes: ReadonlyMap<string, TreeNode>; select: (id: string) => void }) {
  const asset = useRead("get_asset", { asset_id: assetId }, { keep: true });
  return (
    <section className="panel detail" aria-label="Asset">
      <Loaded read={asset} what="the asset" operation="get_asset">
        {(data) => (
          <div className="scroll">
            <Head asset={data} etag={asset.etag} nodes={nodes} select={select} />
            <Place asset={data} />
            <History assetId={assetId} />
          </div>
        )}
      </Loaded>
    </section>
  );
}

function Head({
  asset,
  etag,
  nodes,
  select,
}: {
  asset: Asset;
  etag: string | undefined;
  nodes: ReadonlyMap<string, TreeNode>;
  select: (id: string) => void;
}) {
  const names = namesIn(asset);
  const { asOf } = useAsOf();
  const families = asset.family_ids.map((id) => names[id]?.name ?? "family (no access)");
  return (
    <div className="sec">
      <div className="row">
        <h1 className="asset-name">{asset.name}</h1>
        <CopyButton text={asset.asset_id} label={`Copy the id of ${asset.name}`} />
        <span className="dim sm cut">
          {asset.tier}
          {families.length > 0 && ` · ${families.join(", ")}`}
          {asset.model_id && ` · ${names[asset.model_id]?.name ?? "model (no access)"}`}
        </span>
      </div>
      <Above asset={asset} nodes={nodes} select={select} />
      <div className="axes">
        <AxisTrack name="Lifecycle" states={LIFECYCLE} current={asset.lifecycle} schema="AssetLifecycle" />
        <AxisTrack name="Condition" states={CONDITION} current={asset.condition} schema="AssetCondition" />
      </div>
      <Abnormal asset={asset} />
      {!asOf && <Actions asset={asset} etag={etag} />}
    </div>
  );
}

/** Show the assets above this one, from the beamline down. */
function Above({ asset, nodes, select }: { asset: Asset; nodes: ReadonlyMap<string, TreeNode>; select: (id: string) => void }) {
  const above: TreeNode[] = [];
  for (let node = nodes.get(asset.parent_id ?? ""); node && above.length < 20; node = nodes.get(node.parent_id ?? "")) above.unshift(node);
  if (above.length === 0) return null;
  return (
    <nav className="dim sm above" aria-label="Above this asset">
      {above.map(({ id, name }) => (
        <span key={id}>
          <button type="button" className="crumb" onClick={() => select(id)}>
            {name}
          </button>
          {" › "}
        </span>
      ))}
      {asset.name}
    </nav>
  );
}

/** Say since when and why an axis is not as usual. */
function Abnormal({ asset }: { asset: Asset }) {
  const { asOf } = useAsOf();
  const own = useNow(60_000);
  const zone = useZone();
  const now = asOf ? Date.parse(asOf) : own;
  const axes = [
    { state: asset.condition, since: asset.condition_since, reason: asset.condition_reason, schema: "AssetCondition" },
    { state: asset.lifecycle, since: asset.lifecycle_since, reason: asset.lifecycle_reason, schema: "AssetLifecycle" },
  ] as const;
  const shown = axes.filter(({ state, schema }) => TONES[markOf(state, schema)] !== "");
  if (shown.length === 0) return null;
  const [first] = shown;
  return (
    <Callout mark={first ? markOf(first.state, first.schema) : "info"}>
      {shown.map(({ state, since, reason }) => (
        <p key={state}>
          <b className="b">{stateText(state)}</b>
          {since && ` since ${zone.stamp(since, now)}, for ${length(now - Date.parse(since))}`}
          {reason ? `: ${reason}` : "."}
        </p>
      ))}
    </Callout>
  );
}

/** What each command is given. Commands about another object than the asset have neither its name nor its version. */
function formOf(operation: CommandName, asset: Asset, etag: string | undefined): Omit<OperationFormProps, "domain"> {
  const about = { asset_id: asset.asset_id };
  switch (operation) {
    case "register_caution":
      return { operation, initial: { target: { kind: "Asset", id: asset.asset_id } } };
    case "define_calibration":
    case "install_asset":
      return { operation, about };
    case "uninstall_asset":
      return { operation, about: { mount_id: asset.mount_id } };
    default:
      return { operation, about, name: asset.name, etag };
  }
}

function Actions({ asset, etag }: { asset: Asset; etag: string | undefined }) {
  const may = useMay();
  const [sheet, setSheet] = useState<CommandName>();
  const states = { lifecycle: asset.lifecycle, condition: asset.condition };
  useKeys({ F: () => setSheet("fault_asset"), C: () => setSheet("register_caution") });
  const settings = useSettings(asset);
  const domain = settings.schema ? { settings_patch: { ...settings.schema, required: [] } } : undefined;
  const form = (operation: CommandName) => ({
    ...formOf(operation, asset, etag),
    ...(operation === "update_asset_settings" && domain && { domain }),
  });
  // What the service can move now stands first; everything else is one press away, with its reason.
  const possible = MOVES.filter((operation) => may(operation, states).isEnabled);
  const isFitting = (operation: CommandName) => (operation === "uninstall_asset" ? asset.mount_id !== null : operation !== "install_asset" || asset.mount_id === null);
  const rest = [...MOVES.filter((operation) => !possible.includes(operation)), ...OTHERS.filter(isFitting)];
  return (
    <div className="row wrap asset-actions">
      {possible.map((operation) => (
        <OperationButton key={operation} {...form(operation)} states={states} size="small" look={operation === "restore_asset" ? "main" : "plain"}>
          {SHORT[operation] ?? operationTitle(operation)}
        </OperationButton>
      ))}
      <Popover
        label="Other actions"
        button={({ isOpen, toggle, id }) => (
          <button type="button" className="btn s quiet" aria-expanded={isOpen} aria-controls={id} onClick={toggle}>
            <Icon name="more" />
            Other actions
          </button>
        )}
      >
        {(close) =>
          rest.map((operation) => {
            const offer = may(operation, states);
            return (
              <button
                key={operation}
                type="button"
                className="item"
                aria-disabled={!offer.isEnabled}
                onClick={() => {
                  if (!offer.isEnabled) return;
                  close();
                  setSheet(operation);
                }}
              >
                <span className={offer.isEnabled ? "grow" : "grow faint"}>{operationTitle(operation)}</span>
                {offer.reason && <span className="xs dim">{offer.reason}</span>}
              </button>
            );
          })
        }
      </Popover>
      {sheet && (
        <Suspense fallback={null}>
          <OperationSheet {...form(sheet)} close={() => setSheet(undefined)} />
        </Suspense>
      )}
    </div>
  );
}

const SHORT: Partial<Record<CommandName, string>> = {
  fault_asset: "Fault",
  degrade_asset: "Degrade",
  restore_asset: "Restore",
  activate_asset: "Activate",
  enter_asset_maintenance: "Enter maintenance",
  exit_asset_maintenance: "Exit maintenance",
};

/** Return the schema of the settings that the first family declares. */
function useSettings(asset: Asset): { schema: DomainSchema | undefined } {
  const [familyId] = asset.family_ids;
  const family = useRead("get_family", { family_id: familyId ?? "" }, { when: familyId !== undefined });
  return { schema: (family.data?.settings_schema ?? undefined) as DomainSchema | undefined };
}

function Place({ asset }: { asset: Asset }) {
  const names = namesIn(asset);
  const { schema } = useSettings(asset);
  const settings = Object.entries(asset.settings);
  return (
    <div className="sec">
      <h3>Location and settings</h3>
      <dl className="kv">
        <dt>Hutch</dt>
        <dd>{asset.located_in_enclosure_id ? <Hutch id={asset.located_in_enclosure_id} /> : <span className="faint">not located</span>}</dd>
        <dt>Mount</dt>
        <dd>
          {asset.mount_id ? (
            <ObjectName id={asset.mount_id} names={names} kind="Mount" />
          ) : (
            <span className="faint">not installed in a mount</span>
          )}
        </dd>
        {asset.alternate_identifiers.map(({ kind, value }) => (
          <div key={`${kind} ${value}`} className="pair">
            <dt>{IDENTIFIERS[kind]}</dt>
            <dd>
              <code>{value}</code>
            </dd>
          </div>
        ))}
        {asset.external_id && (
          <>
            <dt>{asset.external_id_namespace === "doi" ? "DOI" : "Handle"}</dt>
            <dd>
              <code>{asset.external_id}</code>
            </dd>
          </>
        )}
        <dt>Settings</dt>
        <dd>
          {settings.length === 0 && <span className="faint">none</span>}
          {settings.map(([name, value], at) => (
            <span key={name}>
              {at > 0 && " · "}
              <span className="dim">{fieldLabel(name)}</span> {settingText(value, schema?.properties?.[name])}
            </span>
          ))}
        </dd>
        <dt>Commissioned</dt>
        <dd>
          <Timestamp at={asset.commissioned_at} />
        </dd>
      </dl>
    </div>
  );
}

const IDENTIFIERS = {
  InventoryNumber: "Inventory",
  EPICS_PV: "Control (EPICS)",
  TANGO_ATTRIBUTE: "Control (Tango)",
  CONTROLSYS_PV: "Control",
  Other: "Other name",
} as const;

function settingText(value: unknown, schema: DomainSchema | undefined): string {
  const unit = unitSymbol(schema?.unit?.label ?? schema?.unit?.code);
  const text = typeof value === "number" ? number(value) : typeof value === "string" ? value : JSON.stringify(value);
  return unit ? `${text} ${unit}` : text;
}

/** Show the enclosure of an asset with its permit at the viewed time. */
function Hutch({ id }: { id: string }) {
  const enclosure = useRead("get_enclosure", { enclosure_id: id });
  const { asOf } = useAsOf();
  const zone = useZone();
  if (!enclosure.data) return <span className="faint">{enclosure.problem ? "enclosure (no access)" : "…"}</span>;
  const { name, permit_status } = enclosure.data;
  return (
    <span className="row wrap hutch">
      {name} <StateMark state={permit_status} schema="PermitStatus" />
      {asOf && <span className="dim"> at {zone.minute(asOf)}</span>}
    </span>
  );
}

const MOST = 100;

/** Show what happened to an asset, newest first; events after the viewed time are told apart. */
function History({ assetId }: { assetId: string }) {
  const history = useRead("get_asset_history", { asset_id: assetId, limit: MOST });
  const { asOf } = useAsOf();
  return (
    <Loaded read={history} what="the history" operation="get_asset_history">
      {(data) => {
        const names = namesIn(data);
        const events = [...data.items].reverse();
        const isLater = (event: RecordedEvent) => asOf !== undefined && Date.parse(event.recorded_at) > Date.parse(asOf);
        const later = events.filter(isLater);
        const until = events.filter((event) => !isLater(event));
        return (
          <div className="sec">
            <h3>
              History, {plural(events.length, "event")}{data.next_cursor && `, the first ${MOST}`}
            </h3>
            <ul className="hist">
              {later.map((event) => (
                <HistoryLine key={event.event_id} event={event} by={names[event.principal_id]?.name} isLater />
              ))}
              {asOf && <ViewedTime asOf={asOf} />}
              {until.map((event, at) => (
                <HistoryLine key={event.event_id} event={event} by={names[event.principal_id]?.name} isCleared={isCleared(event, until.slice(0, at))} />
              ))}
            </ul>
          </div>
        );
      }}
    </Loaded>
  );
}

/** The axis that an event moves, by the moves that the service tells of its command. */
const axesOf = (event: RecordedEvent) =>
  ((routes as Record<string, { moves?: { axis: string; event: string }[] } | undefined>)[event.command_name]?.moves ?? [])
    .filter((move) => move.event === event.event_type)
    .map(({ axis }) => axis);

/** Return whether a later event moved the same axis: what the event reports is over. */
function isCleared(event: RecordedEvent, later: readonly RecordedEvent[]): boolean {
  const axes = axesOf(event);
  return later.some((each) => axesOf(each).some((axis) => axes.includes(axis)));
}

function ViewedTime({ asOf }: { asOf: string }) {
  const zone = useZone();
  return <li className="cutline">{zone.time(asOf)}, viewed time</li>;
}

function HistoryLine({
  event,
  by,
  isLater = false,
  isCleared: isOver = false,
}: {
  event: RecordedEvent;
  by: string | undefined;
  isLater?: boolean;
  isCleared?: boolean;
}) {
  const zone = useZone();
  const now = useNow(0);
  const { text, mark } = eventText(event.event_type, event.payload);
  const reason = reasonIn(event.payload);
  return (
    <li className={isLater ? "later" : ""}>
      <time className="dim" dateTime={event.recorded_at} title={`${zone.day(event.recorded_at)} ${zone.time(event.recorded_at)}`}>
        {zone.isSameDay(event.recorded_at, now) ? zone.time(event.recorded_at) : zone.day(event.recorded_at).slice(4)}
      </time>
      <Icon name={mark} className={isLater || isOver ? "" : TONES[mark]} />
      <span>
        {text.charAt(0).toUpperCase() + text.slice(1)}
        {reason && `: ${reason}`}
      </span>
      <span className="dim sm nowrap">{by ?? "not visible"}</span>
    </li>
  );
}
