/** The catalogue of operations, which only forms need and which is read when one opens. */
import { use } from "react";
import type { Catalogue } from "./catalogue.json";

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

/** Return the catalogue; the component waits for it in the nearest Suspense. */
export function useCatalogue(): Catalogue {
  return use(readCatalogue());
}
