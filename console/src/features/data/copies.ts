/** The copies of a dataset, as custody counts them. */
import type { Answer } from "../../api";

export type CustodyRow = Answer<"list_custody">["items"][number];
export type Copy = CustodyRow["copies"][number];

/** Return the name of the storage of a copy. */
export const storageOf = ({ supply_id, supply_name }: Copy) => (supply_id ? (supply_name ?? "storage (no access)") : "Elsewhere");
