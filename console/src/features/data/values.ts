/** Calibrated values as people write them. */
import type { Shape, Words } from "../../api";
import { fieldLabel, number, plainText } from "../../text";

type Values = Record<string, unknown>;

/** The unit in which the service records each quantity. */
const UNITS: Record<Words["Quantity"], string> = {
  rotation_center: "px",
  detector_pixel_size: "µm",
  magnification: "×",
  linear_motor_sensitivity: "µm",
  rotary_motor_sensitivity: "°",
  linear_encoder_offset: "µm",
  rotary_encoder_offset: "°",
  beam_profile: "µm",
};
const POINTS: Record<string, string> = { energy: "keV", load: "kg" };

/** «1024.6 px»; a quantity of several numbers names each. */
export function valueText(quantity: Words["Quantity"], value: Values): string {
  const { uncertainty, ...rest } = value;
  const entries = Object.entries(rest).filter(([, each]) => each !== null && each !== undefined);
  const numbers = entries.filter(([, each]) => typeof each === "number");
  const others = entries.filter(([, each]) => typeof each !== "number").map(([name, each]) => `${fieldLabel(name).toLowerCase()} ${plainText(each)}`);
  const unit = UNITS[quantity];
  const parts = numbers.map(([name, each]) => `${numbers.length > 1 ? `${fieldLabel(name).toLowerCase()} ` : ""}${plainText(each)} ${unit}`);
  return [...parts, ...others].join(", ");
}

/** «± 0.3», or nothing when it is not known. */
export function uncertaintyText(value: Values): string {
  return typeof value.uncertainty === "number" ? `± ${number(value.uncertainty)}` : "";
}

/** «25 keV, 5x»: the conditions under which a value is valid. */
export function pointText(point: Values): string {
  return Object.entries(point)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => (POINTS[name] ? `${plainText(value)} ${POINTS[name]}` : plainText(value)))
    .join(", ");
}

/** «Rotation center at 25 keV, 5x» */
export function calibrationText(quantity: string, point: Values): string {
  const at = pointText(point);
  return at ? `${fieldLabel(quantity)} at ${at}` : fieldLabel(quantity);
}

export type Source = Shape<"Revision">["source"];

/** Return how a revision was found, and the object that it was found by. */
export function sourceOf(source: Source): { word: string; kind: string; id: string } {
  if ("procedure_id" in source) return { word: "measured", kind: "Procedure", id: source.procedure_id };
  if ("dataset_id" in source) return { word: "computed", kind: "Dataset", id: source.dataset_id };
  return { word: "asserted", kind: "Actor", id: source.actor_id };
}
