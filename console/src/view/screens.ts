/** The eight screens in the order of the rail. */

export type ScreenName = "Board" | "Runs" | "Procedures" | "Equipment" | "Data" | "Decisions" | "Handover" | "Access";

export interface ScreenPlace {
  name: ScreenName;
  icon: "board" | "run" | "list" | "equipment" | "data" | "decision" | "handover" | "key";
  /** The key after `G`. */
  key: string;
  /** Where the rail leads. */
  path: string;
  /** Every path that shows this screen; `$kind` and `$id` are given to it. */
  paths: readonly string[];
}

// prettier-ignore
export const SCREENS: readonly ScreenPlace[] = [
  { name: "Board", icon: "board", key: "B", path: "/", paths: ["/", "/b/$unit"] },
  { name: "Runs", icon: "run", key: "R", path: "/runs", paths: ["/runs", "/runs/$id"] },
  { name: "Procedures", icon: "list", key: "P", path: "/procedures", paths: ["/procedures", "/procedures/$id"] },
  { name: "Equipment", icon: "equipment", key: "E", path: "/equipment", paths: ["/equipment", "/equipment/$id"] },
  { name: "Data", icon: "data", key: "D", path: "/data", paths: ["/data", "/data/$kind/$id"] },
  { name: "Decisions", icon: "decision", key: "I", path: "/decisions", paths: ["/decisions", "/decisions/$id", "/proposals/$id"] },
  { name: "Handover", icon: "handover", key: "H", path: "/handover", paths: ["/handover"] },
  { name: "Access", icon: "key", key: "A", path: "/access", paths: ["/access"] },
];

/** Return the screen that shows a path. */
export function screenAt(pathname: string): ScreenPlace | undefined {
  const first = pathname.replace(/^\/console(?=\/|$)/, "").split("/")[1] ?? "";
  return SCREENS.find(({ paths }) => paths.some((path) => path.split("/")[1] === first));
}
