/** The schemas that the domain itself declares for fields that the catalogue knows as plain JSON. */
import { useMemo } from "react";
import { useRead, type CommandName } from "../api";
import type { DomainSchema, Values } from "../ui";

/** The commands whose parameters a method declares, and where the method is found. */
const PARAMETERS: Partial<Record<CommandName, { field: string; of: "plan_id" | "run_id" }>> = {
  start_run: { field: "override_parameters", of: "plan_id" },
  update_plan_default_parameters: { field: "default_parameters_patch", of: "plan_id" },
  adjust_run: { field: "parameters_patch", of: "run_id" },
};
const NONE: Record<string, DomainSchema> = {};

/** Return the schemas of the fields of a command that a method declares, for the chosen plan or run. */
export function useDeclared(operation: CommandName, values: Values): Record<string, DomainSchema> {
  const parameters = PARAMETERS[operation];
  const id = parameters ? values[parameters.of] : undefined;
  const text = typeof id === "string" ? id : "";
  const plan = useRead("get_plan", { plan_id: text }, { when: parameters?.of === "plan_id" && text !== "", current: true });
  const run = useRead("get_run", { run_id: text }, { when: parameters?.of === "run_id" && text !== "", current: true });
  const methodId = plan.data?.method_id ?? run.data?.method_id;
  const method = useRead("get_method", { method_id: methodId ?? "" }, { when: methodId !== undefined, current: true });
  const schema = method.data?.parameters_schema as DomainSchema | null | undefined;
  const defaults = (plan.data?.default_parameters ?? run.data?.effective_parameters) as Values | undefined;
  return useMemo(() => {
    if (!parameters || !schema?.properties) return NONE;
    // Every parameter may be left out: the plan has a default, which is shown next to the field.
    const properties = Object.fromEntries(Object.entries(schema.properties).map(([name, each]) => [name, described(each, defaults?.[name])]));
    return { [parameters.field]: { ...schema, properties, required: [] } };
  }, [defaults, parameters, schema]);
}

function described(schema: DomainSchema, value: unknown): DomainSchema {
  return value === undefined ? schema : { ...schema, description: `Now ${JSON.stringify(value)}` };
}
