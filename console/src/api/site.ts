/** The operations of the running service that the console was not built with: those of the contexts of a site. */
import type { Catalogue } from "./catalogue.json";
import type { ServiceClient } from "./client";
import { described } from "./describing";
import { learnReads } from "./invalidation";
import { addRoutes, isBuiltIn } from "./routes";

/** Read the operations of a site from the service, and return the catalogue with them. */
export async function withSite(built: Catalogue, service: ServiceClient, signal: AbortSignal): Promise<Catalogue> {
  const { routes, operations, schemas } = described(await service.document(signal), (name) => !isBuiltIn(name));
  addRoutes(routes);
  learnReads(routes);
  return { operations: { ...built.operations, ...operations }, schemas: { ...built.schemas, ...schemas } };
}
