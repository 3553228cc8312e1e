/** What each screen shows; every screen is loaded when it is opened. */
import { lazy, type ComponentType } from "react";
import type { ScreenName, ScreenProps } from "../view";

export const COMPONENTS: Record<ScreenName, ComponentType<ScreenProps>> = {
  Board: lazy(() => import("../features/board")),
  Runs: lazy(() => import("../features/runs")),
  Procedures: lazy(() => import("../features/procedures")),
  Equipment: lazy(() => import("../features/equipment")),
  Data: lazy(() => import("../features/data")),
  Decisions: lazy(() => import("../features/decisions")),
  Handover: lazy(() => import("../features/handover")),
  Access: lazy(() => import("../features/access")),
};
