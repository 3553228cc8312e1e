/** The catalogue of operations, which only forms need and which is read when one opens. */
import { useQuery } from "@tanstack/react-query";
import { use } from "react";
import type { Catalogue } from "./catalogue.json";
import { useService } from "./client";
import { isBuiltIn } from "./routes";
import { useRead } from "./useRead";

let reading: Promise<Catalogue> | undefined;

/** Begin to read the catalogue. */
export function readCatalogue(): Promise<Catalogue> {
  reading ??= import("./catalogue.json").then(
    (module) => module.default,
    (problem: unknown) => {
      // Another form may ask again.
      reading = undefined;
      throw problem;
    },
  );
  return reading;
}

/**
 * Return the catalogue; the component waits for it in the nearest Suspense. The operations of a site follow, once the
 * service has said that this person may call one.
 */
export function useCatalogue(): Catalogue {
  const built = use(readCatalogue());
  const service = useService();
  const { data: me } = useRead("get_self", {});
  const site = useQuery({
    queryKey: ["catalogue of the site"],
    queryFn: async ({ signal }) => (await import("./site")).withSite(built, service, signal),
    enabled: me !== undefined && ![...me.permitted_commands, ...me.proposable_commands].every(isBuiltIn),
    gcTime: Infinity,
  });
  return site.data ?? built;
}
