/** How the beamline stands now. */
import { useRead } from "../../api";
import { markOf, stateText, type StateSchema } from "../../text";
import { EmptyState, Loaded, Pair, Panel, StateMark } from "../../ui";
import { useBeamline } from "../../view";
import "./handover.css";

/** Show how the beamline stands now. */
export function Current() {
  const { unitId } = useBeamline();
  const read = useRead("get_board", { asset_id: unitId ?? "" }, { when: unitId !== undefined, current: true });
  return (
    <Panel title="Now">
      {unitId === undefined ? (
        <EmptyState>No beamline is registered.</EmptyState>
      ) : (
        <Loaded read={read} what="the beamline" operation="get_board">
          {({ supplies, enclosures, runs, procedures, surfaces }) => (
            <dl className="kv">
              <Normally label="Supplies" word="Available" rows={(supplies ?? []).map(({ id, name, status }) => ({ id, name, state: status, schema: "SupplyStatus" as const }))} />
              <Normally
                label="Hutches"
                word="Permitted"
                rows={(enclosures ?? []).map(({ id, name, permit_status }) => ({ id, name, state: permit_status, schema: "PermitStatus" as const }))}
              />
              <Pair label="Runs">
                {runs?.length ? (
                  runs.map((run) => (
                    <StateMark key={run.id} state={run.status} schema="RunStatus">
                      {run.name}
                    </StateMark>
                  ))
                ) : (
                  <StateMark mark="normal">no active run</StateMark>
                )}
              </Pair>
              <Pair label="Procedures">
                {procedures?.length ? (
                  procedures.map((each) => (
                    <StateMark key={each.id} state={each.status} schema="ProcedureStatus">
                      {each.name}
                    </StateMark>
                  ))
                ) : (
                  <StateMark mark="normal">no active procedure</StateMark>
                )}
              </Pair>
              {(surfaces ?? []).map((each) => (
                <Pair key={each.id} label="Control">
                  <StateMark mark={each.visit ? "progress" : "normal"}>{`${each.visit ? `${stateText(each.visit.type)} visit` : "Free"}, ${each.name}`}</StateMark>
                </Pair>
              ))}
            </dl>
          )}
        </Loaded>
      )}
    </Panel>
  );
}

interface Standing {
  id: string;
  name: string;
  state: string;
  schema: StateSchema;
}

/** Count what is normal in one row, and give each of the others its own. */
function Normally({ label, word, rows }: { label: string; word: string; rows: readonly Standing[] }) {
  const [normal, others] = [rows.filter(({ state, schema }) => markOf(state, schema) === "normal"), rows.filter(({ state, schema }) => markOf(state, schema) !== "normal")];
  return (
    <>
      {others.map(({ id, name, state, schema }) => (
        <Pair key={id} label={name}>
          <StateMark state={state} schema={schema} />
        </Pair>
      ))}
      {normal.length > 0 && (
        <Pair label={label}>
          <StateMark mark="normal">{normal.length === rows.length ? `${word}, all ${rows.length}` : `${word}, ${normal.length} of ${rows.length}`}</StateMark>
        </Pair>
      )}
    </>
  );
}
