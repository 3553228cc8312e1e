import type { Described, Schema } from "./catalogue.json";
import type { Route } from "./routes.json";

/** The OpenAPI document of a service. */
export type OpenApiDocument = Record<string, unknown>;

/** Return the routes, the forms and the schemas of the operations that are wanted (default: of all). */
export function described(
  document: OpenApiDocument,
  isWanted?: (name: string) => boolean,
): { routes: Record<string, Route>; operations: Record<string, Described>; schemas: Record<string, Schema> };
