/** The operations of the running service that the console was not built with: those of the contexts of a site. */
import type { Catalogue } from "./catalogue.json";
import type { ServiceClient } from "./client";
import { learnReads } from "./invalidation";
import { addRoutes, isBuiltIn } from "./routes";

/** Read the operations of a site from the service, and return the catalogue with them. */
export async function withSite(built: Catalogue, service: ServiceClient, signal: AbortSignal): Promise<Catalogue> {
  const [{ described }, document] = await Promise.all([import("./describing"), service.document(signal)]);
  const { routes, operations, schemas } = described(document, (name) => !isBuiltIn(name));
  addRoutes(routes);
  learnReads(routes);
  return { operations: { ...built.operations, ...operations }, schemas: { ...built.schemas, ...schemas } };
}
