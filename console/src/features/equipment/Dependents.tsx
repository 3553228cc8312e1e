import type { ReactNode } from "react";
import { useRead, type Read } from "../../api";
import { fieldLabel, markOfKind, plural, stateText } from "../../text";
import { useAsOf, useNow, useZone } from "../../time";
import { Failure, Icon, ObjectName, Panel, Skeleton, StateMark, type IconName } from "../../ui";

const FEW = 4;

/** Show what uses an asset or an asset below it, and what is recorded about it. */
export function Dependents({ assetId }: { assetId: string }) {
  const { asOf } = useAsOf();
  const zone = useZone();
  const now = useNow(60_000);
  const plans = useRead("list_plans", { under_asset_id: assetId, limit: FEW, count: true });
  const runs = useRead("list_runs", { under_asset_id: assetId, status: ["Running", "Held"], limit: FEW, count: true });
  const procedures = useRead("list_procedures", {
    under_asset_id: assetId,
    status: ["Running", "Held"],
    limit: FEW,
    count: true,
  });
  const subjects = useRead("list_subjects", { mounted_on_asset_id: assetId, limit: FEW, count: true });
  const cautions = useRead("list_cautions", { covering_asset_id: assetId, in_effect: true, limit: FEW, count: true });
  const calibrations = useRead("list_calibrations", { asset_id: assetId, limit: FEW, count: true });
  const clearances = useRead("list_clearances", { covering_asset_id: assetId, in_force: true, limit: FEW, count: true });
  const supplies = useRead("list_supplies", { containing_asset_id: assetId, limit: FEW, count: true });
  return (
    <Panel title="Dependents" flush className="dependents" end={asOf && <span className="chip">current, not as of the viewed time</span>}>
      <div className="sec">
        <Dep read={plans} icon="document" one="plan" none="In no plan">
          {({ plan_id, name, status }) => (
            <span key={plan_id}>
              {name}
              {status !== "Versioned" && `, ${stateText(status).toLowerCase()}`}
            </span>
          )}
        </Dep>
        <Dep read={runs} icon="run" one="active run" none="No active run">
          {({ run_id, name, status }) => <Stated key={run_id} id={run_id} kind="Run" name={name} state={status} />}
        </Dep>
        <Dep read={procedures} icon="list" one="active procedure" none="No active procedure">
          {({ procedure_id, name, status }) => <Stated key={procedure_id} id={procedure_id} kind="Procedure" name={name} state={status} />}
        </Dep>
        <Dep read={subjects} icon="asset" one="subject mounted" many="subjects mounted" none="No subject mounted">
          {({ subject_id, name }) => <span key={subject_id}>{name}</span>}
        </Dep>
        <Dep read={supplies} icon="beam" one="supply" many="supplies" none={undefined}>
          {({ supply_id, name, status }) => <Stated key={supply_id} id={supply_id} kind="Supply" name={name} state={status} />}
        </Dep>
      </div>
      <div className="sec">
        <Dep read={cautions} icon="caution" one="caution" none="No caution">
          {({ caution_id, text, severity }) => (
            <span key={caution_id}>
              {severity === "Warning" && <b className="b">Warning: </b>}
              {text}
            </span>
          )}
        </Dep>
        <Dep read={calibrations} icon="gauge" one="calibration" none="No calibration">
          {({ calibration_id, quantity, current_status }) => (
            <span key={calibration_id}>
              <ObjectName id={calibration_id} name={fieldLabel(quantity)} kind="Calibration" plain />
              {`, ${current_status ? stateText(current_status) : "no revision"}`}
            </span>
          )}
        </Dep>
        <Dep read={clearances} icon="document" one="clearance in force" many="clearances in force" none="No clearance in force">
          {({ clearance_id, title, valid_until }) => (
            <span key={clearance_id}>
              {title}
              {valid_until && ` until ${zone.stamp(valid_until, now)}`}
            </span>
          )}
        </Dep>
      </div>
    </Panel>
  );
}

/** Show an object with its state. */
function Stated({ id, kind, name, state }: { id: string; kind: string; name: string; state: string }) {
  return (
    <span className="row wrap">
      <ObjectName id={id} name={name} kind={kind} plain />
      <StateMark mark={markOfKind(kind, state)}>{stateText(state)}</StateMark>
    </span>
  );
}

interface DepProps<T> {
  read: Read<{ items: T[]; total?: number | string }>;
  icon: IconName;
  one: string;
  many?: string;
  /** What is said when there is none; undefined shows nothing. */
  none: string | undefined;
  children: (item: T) => ReactNode;
}

/** Show how many there are, and the first of them. */
function Dep<T>({ read, icon, one, many = `${one}s`, none, children }: DepProps<T>) {
  const { data, problem } = read;
  if (!data) return problem ? <Failure problem={problem} what={many} again={read.again} /> : <Skeleton what={many} />;
  const total = typeof data.total === "number" ? data.total : data.items.length;
  if (data.items.length === 0 && none === undefined) return null;
  return (
    <div className="dep">
      <Icon name={icon} />
      <div>
        <b className="b">{data.items.length === 0 ? none : typeof data.total === "string" ? `${data.total} ${many}` : plural(total, one, many)}</b>
        {data.items.map((item, at) => (
          <div key={at} className="dim sm">
            {children(item)}
          </div>
        ))}
        {total > data.items.length && <div className="faint sm">and {total - data.items.length} more</div>}
      </div>
    </div>
  );
}
