/** The plan and the subject that the next run would have. */
import { useRead, type Answer } from "../../api";
import { useSearchParam } from "../../view";
import type { BoardAnswer } from "./reading";

export type PlanRow = Answer<"list_plans">["items"][number];
export type SubjectRow = Answer<"list_subjects">["items"][number];

export interface Choice {
  planId: string | undefined;
  plan: PlanRow | undefined;
  plans: readonly PlanRow[];
  subjectId: string | undefined;
  subject: SubjectRow | undefined;
  subjects: readonly SubjectRow[];
  choose: (planId: string) => void;
  chooseSubject: (subjectId: string) => void;
}

/** Return the choice in the address; without one, what the beamline uses now. */
export function useChoice(unitId: string, board: BoardAnswer | undefined): Choice {
  const [chosenPlan, choose] = useSearchParam("plan");
  const [chosenSubject, chooseSubject] = useSearchParam("subject");
  const plans = useRead("list_plans", { under_asset_id: unitId, status: ["Defined", "Versioned"], order: "newest", limit: 50 }, { current: true });
  const subjects = useRead("list_subjects", { status: ["Mounted", "Received", "Measured", "Removed"], order: "newest", limit: 20 }, { current: true });
  const planId = chosenPlan ?? board?.plans?.[0]?.plan_id;
  const ofPlan = board?.runs?.find((run) => run.plan_id === planId)?.subject_id ?? undefined;
  const rows = subjects.data?.items ?? [];
  const subjectId = chosenSubject ?? ofPlan ?? rows.find(({ status }) => status === "Mounted")?.subject_id;
  return {
    planId,
    plan: plans.data?.items.find((plan) => plan.plan_id === planId),
    plans: plans.data?.items ?? [],
    subjectId,
    subject: rows.find((subject) => subject.subject_id === subjectId),
    subjects: rows,
    choose,
    chooseSubject,
  };
}
