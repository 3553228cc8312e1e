/** The objects that the screen behind the palette shows. */
import { useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { routes, type QueryName } from "../../api";

export interface ObjectInView {
  kind: string;
  id: string;
  name: string;
  field: string;
  etag: string | undefined;
  states: Record<string, string>;
}

/** Return the objects that are read one by one at the moment. */
export function useObjectsInView(): readonly ObjectInView[] {
  const queries = useQueryClient();
  return useMemo(
    () =>
      queries
        .getQueryCache()
        .findAll({ type: "active" })
        .flatMap(({ queryKey, state }) => {
          const [operation, parameters] = queryKey as [QueryName, Record<string, unknown>];
          const route = routes[operation];
          const field = /^\/[\w-]+\/\{(\w+)\}$/.exec(route?.path ?? "")?.[1];
          const reading = state.data as { answer?: Record<string, unknown>; etag?: string } | undefined;
          const id = field ? parameters[field] : undefined;
          const name = reading?.answer?.name;
          if (!field || typeof id !== "string" || typeof name !== "string") return [];
          const states = Object.fromEntries(Object.entries(reading?.answer ?? {}).filter((each): each is [string, string] => typeof each[1] === "string"));
          return [{ kind: route.aggregate, id, name, field, etag: reading?.etag, states }];
        }),
    [queries],
  );
}
