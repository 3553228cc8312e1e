/** The operations of the service by their names: those that the console was built with, and those of a site once they were read. */
import type { OperationName } from "./names";
import built, { type Route } from "./routes.json";

export const routes: Record<OperationName, Route> = { ...built };

/** Return whether the console was built with an operation. */
export function isBuiltIn(name: string): boolean {
  return name in built;
}

/** Add the operations of a site. */
export function addRoutes(added: Record<string, Route>): void {
  Object.assign(routes, added);
}
