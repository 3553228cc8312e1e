/** One asset: its two axes, where it is, its settings and its history. */
import { namesIn, useRead } from "../../api";
import { fieldLabel, markOf, plainText, stateText, TONES, unitSymbol } from "../../text";
import { length, useAsOf, useNow, useZone } from "../../time";
import { AxisTrack, Callout, CopyButton, Loaded, ObjectName, Pair, StateMark, Timestamp, type DomainSchema } from "../../ui";
import { useSettingsSchema, type Asset, type TreeNode } from "./asset";
import { Actions } from "./AssetActions";
import { History } from "./History";

const LIFECYCLE = ["Commissioned", "Active", "Maintenance", "Decommissioned"] as const;
const CONDITION = ["Nominal", "Degraded", "Faulted"] as const;

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

function Head({ asset, etag, nodes, select }: { asset: Asset; etag: string | undefined; nodes: ReadonlyMap<string, TreeNode>; select: (id: string) => void }) {
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

function Place({ asset }: { asset: Asset }) {
  const names = namesIn(asset);
  const schema = useSettingsSchema(asset);
  const settings = Object.entries(asset.settings);
  return (
    <div className="sec">
      <h3>Location and settings</h3>
      <dl className="kv">
        <dt>Hutch</dt>
        <dd>{asset.located_in_enclosure_id ? <Hutch id={asset.located_in_enclosure_id} /> : <span className="faint">not located</span>}</dd>
        <dt>Mount</dt>
        <dd>{asset.mount_id ? <ObjectName id={asset.mount_id} names={names} kind="Mount" /> : <span className="faint">not installed in a mount</span>}</dd>
        {asset.alternate_identifiers.map(({ kind, value }) => (
          <Pair key={`${kind} ${value}`} label={IDENTIFIERS[kind]}>
            <code>{value}</code>
          </Pair>
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
  const text = plainText(value);
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
