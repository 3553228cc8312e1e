/** Objects by name, for forms. */
import { useCallback } from "react";
import { useService } from "../api/client";
import type { QueryName } from "../api/names";
import { routes } from "../api/routes";
import type { Found, Pick } from "../ui";

const UUID = /^[0-9a-f]{8}-/;

/** Return the list of the objects of a kind: `list_plans` of plans. */
function listOf(kind: string): QueryName | undefined {
  return (Object.keys(routes) as QueryName[]).findLast((name) => name.startsWith("list_") && routes[name].aggregate === kind && /^\/[\w-]+$/.test(routes[name].path));
}

/** Return a function that finds objects of a kind by their name, or the object of an id. */
export function usePick(): Pick {
  const service = useService();
  return useCallback(
    async (kind: string, text: string): Promise<readonly Found[]> => {
      const q = text.trim();
      if (UUID.test(q)) return (await service.read("resolve_names", { id: [q] })).answer.items;
      const list = listOf(kind);
      // Names of people are not searchable; their list has them.
      if (q && (kind !== "Actor" || !list)) return (await service.read("search", { q, limit: 20, ...(kind && { kind: [kind] }) })).answer.items;
      if (!list) return [];
      const { answer } = await service.read(list, { limit: q ? 100 : 20, order: "newest" } as never);
      const rows = (answer as { items: Record<string, unknown>[] }).items.flatMap((row) => foundIn(row, kind));
      return rows.filter(({ name }) => name.toLowerCase().includes(q.toLowerCase()));
    },
    [service],
  );
}

/** Return the object of a row of a list. */
function foundIn(row: Record<string, unknown>, kind: string): Found[] {
  const field = `${kind.replace(/(?<!^)(?=[A-Z])/g, "_").toLowerCase()}_id`;
  const [id, name, status] = [row[field], row.name ?? row.title ?? row.code, row.status];
  if (typeof id !== "string" || typeof name !== "string") return [];
  return [{ id, kind, name, status: typeof status === "string" ? status : null }];
}
