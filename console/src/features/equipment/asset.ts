/** One asset, and what several panels show of it. */
import { useRead, type Answer } from "../../api";
import type { DomainSchema } from "../../ui";

export type Asset = Answer<"get_asset">;
export type TreeNode = Answer<"get_asset_tree">["nodes"][number];

/** Return the schema of the settings that the first family declares. */
export function useSettingsSchema(asset: Asset): DomainSchema | undefined {
  const [familyId] = asset.family_ids;
  const family = useRead("get_family", { family_id: familyId ?? "" }, { when: familyId !== undefined });
  return (family.data?.settings_schema ?? undefined) as DomainSchema | undefined;
}
