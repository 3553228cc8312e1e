/** Titles of operations: imperative, for buttons and the palette. The service declares them. */
import { routes } from "../api/routes";
import type { OperationName } from "../api/names";

const sentence = (name: string): string => {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Return the title of an operation: «Hold a run». */
export function operationTitle(operation: string): string {
  const known = (routes as Partial<typeof routes>)[operation as OperationName];
  return known?.title ?? sentence(operation);
}

/** Return the title of an operation on an object that has a name: «Hold Run 1». */
export function operationOn(operation: string, name: string): string {
  const title = operationTitle(operation);
  const replaced = title.replace(/\ban? [a-z]+\b(?!.*\ban? )/, name);
  return replaced === title ? `${title}: ${name}` : replaced;
}

/** Return the verb of an operation, for a button next to its object: «Hold», «Mark recovering». */
export function operationVerb(operation: string): string {
  const [verb = "", ...rest] = operation.split("_");
  if (verb === "mark") return sentence(`mark ${rest.at(-1) ?? ""}`);
  if (operation.endsWith("_maintenance")) return sentence(`${verb} maintenance`);
  return sentence(verb);
}
