/** Labels of fields, and the kind of object that an id is of. */
import { holdsSteps } from "./steps";

/** The kind of object that a field refers to, where its name does not say it. */
const KINDS: Record<string, string> = {
  parent_id: "",
  target_id: "",
  stream_id: "",
  id: "",
  unit_asset_id: "Asset",
  below: "Asset",
  above: "Asset",
  parent_run_id: "Run",
  parent_surface_id: "Surface",
  controlling_visit_id: "Visit",
  decided_by_decision_id: "Decision",
  lead_actor_id: "Actor",
  owner_id: "Actor",
  principal_id: "Actor",
  proposed_by: "Actor",
  permitted_principal_id: "Actor",
  source_zone_id: "Zone",
  target_zone_id: "Zone",
  revision_id: "CalibrationRevision",
  pinned_calibration_id: "CalibrationRevision",
};

/** Return the kind of object whose id a field takes; "" when it may be any, undefined when it is no id. */
export function kindOfField(field: string): string | undefined {
  const single = field.replace(/_ids$/, "_id");
  const known = KINDS[single];
  if (known !== undefined) return known;
  if (!single.endsWith("_id")) return undefined;
  const words = single.slice(0, -3).split("_");
  return words
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("")
    .replace(/^.*(?=Asset$|Run$|Dataset$|Enclosure$|Calibration$|Caution$|Supply$|Visit$)/, "");
}

/** Return the label of a field: «plan_id» is «Plan», «redo_step_indexes» is «Redo steps». */
export function fieldLabel(field: string): string {
  const named = holdsSteps(field) ? field.replace(/_index$/, "").replace(/_indexes$/, "s") : field;
  const plain = named
    .replace(/y_ids$/, "ies")
    .replace(/_ids$/, "s")
    .replace(/(?<=.)_id$/, "")
    .replaceAll("_", " ");
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}
