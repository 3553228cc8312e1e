import { useMemo } from "react";
import { useAllPages } from "../../api";
import { markOf } from "../../text";
import { useNow } from "../../time";
import { DataTable, Panel, StateMark, Timestamp } from "../../ui";
import { Plot } from "../../ui/Plot";
import { valueText } from "./steps";
import type { Procedure } from "./steps";

/** The iterations of a loop, with a plot of their value. */
export function Iterations({ procedure: { procedure_id, status } }: { procedure: Procedure }) {
  const iterations = useAllPages("list_procedure_iterations", { procedure_id });
  const isOpen = ["progress", "held"].includes(markOf(status, "ProcedureStatus"));
  const now = useNow(isOpen ? 10_000 : 0);
  const items = useMemo(() => iterations.data?.items ?? [], [iterations.data]);
  const series = useMemo(() => {
    const valued = items.filter((row) => typeof row.value === "number");
    return {
      name: "Value",
      times: valued.map((row) => Date.parse(row.ended_at ?? row.started_at) / 1000),
      values: valued.map((row) => row.value as number),
    };
  }, [items]);
  // The plot of a loop that continues runs up to now.
  const range = useMemo(() => {
    const [first, last] = [series.times[0] ?? 0, series.times.at(-1) ?? 0];
    return [first, isOpen ? Math.max(last, now / 1000) : last] as const;
  }, [isOpen, now, series]);
  return (
    <Panel title="Iterations" note={iterations.data?.next_cursor ? `the first ${items.length}` : undefined} flush>
      {series.times.length > 1 && <Plot series={series} range={range} height={140} />}
      <DataTable
        label="Iterations"
        rows={items}
        rowKey={(row) => String(row.iteration_index)}
        columns={[
          { key: "index", title: "Iteration", cell: (row) => row.iteration_index },
          { key: "started", title: "Started", cell: (row) => <Timestamp at={row.started_at} /> },
          {
            key: "at",
            title: "Coordinate",
            cell: (row) =>
              row.coordinate
                ? Object.entries(row.coordinate)
                    .map(([axis, value]) => `${axis} ${valueText(value)}`)
                    .join(", ")
                : "",
          },
          { key: "value", title: "Value", align: "right", cell: (row) => (row.value === null || row.value === undefined ? "" : valueText(row.value)) },
          {
            key: "converged",
            title: "Converged",
            cell: (row) => (row.ended_at === null ? <StateMark mark="progress">Running</StateMark> : row.converged ? <StateMark mark="done">Yes</StateMark> : "no"),
          },
          { key: "reason", title: "Reason", cell: (row) => <span className="dim">{row.reason}</span> },
        ]}
      />
    </Panel>
  );
}
