/** The commands of an asset: what it can move to now, and everything else. */
import { Suspense, useState } from "react";
import { OperationButton, OperationSheet, type OperationFormProps } from "../../actions";
import type { CommandName } from "../../api";
import { useMay } from "../../auth";
import { operationTitle } from "../../text";
import { Icon, Popover } from "../../ui";
import { useKeys } from "../../view";
import { useSettingsSchema, type Asset } from "./asset";

/** The commands that move one of the two axes, and those that change the rest. */
const MOVES: readonly CommandName[] = ["fault_asset", "degrade_asset", "restore_asset", "activate_asset", "enter_asset_maintenance", "exit_asset_maintenance"];

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

export function Actions({ asset, etag }: { asset: Asset; etag: string | undefined }) {
  const may = useMay();
  const [sheet, setSheet] = useState<CommandName>();
  const states = { lifecycle: asset.lifecycle, condition: asset.condition };
  useKeys({ F: () => setSheet("fault_asset"), C: () => setSheet("register_caution") });
  const settings = useSettingsSchema(asset);
  const domain = settings ? { settings_patch: { ...settings, required: [] } } : undefined;
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
