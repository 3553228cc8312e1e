import { namesIn, useRead, type Answer } from "../../api";
import { useMe } from "../../auth";
import { Icon, EmptyState, Loaded, ObjectName, Panel } from "../../ui";
import { useSearchParam } from "../../view";

type Policy = Answer<"list_policies">["items"][number];
type Verdict = "permitted" | "proposable" | undefined;
const EVERY = "*";

/** Where a policy applies: at one surface, or on a conduit. */
const placeOf = ({ surface_id, conduit_id }: Policy) => surface_id ?? conduit_id;

/** Show who may call what at one place: principals by operations, permitted or proposable. */
export function Matrix() {
  const me = useMe();
  const read = useRead("list_policies", { limit: 100 });
  const [place, setPlace] = useSearchParam("at");
  const [filter, setFilter] = useSearchParam("find");
  const policies = read.data?.items ?? [];
  const names = namesIn(read.data);
  const places = [...new Set(policies.map(placeOf))];
  const own = me.data?.surface.surface_id;
  const shownPlace = place ?? (own && places.includes(own) ? own : places[0]);
  const here = policies.filter((policy) => placeOf(policy) === shownPlace);
  const principals = [...new Set(here.flatMap(({ permitted_principal_ids }) => permitted_principal_ids))];
  const named = [...new Set(here.flatMap(({ permitted_commands, proposable_commands }) => [...permitted_commands, ...proposable_commands]))].sort();
  const operations = named.filter((name) => name.includes((filter ?? "").trim().toLowerCase().replaceAll(" ", "_")));
  return (
    <Panel
      title="Who may do what"
      note={plainly(here.length, operations.length)}
      className="wide"
      flush
      end={
        <>
          <input
            className="in"
            type="search"
            placeholder="Find an operation"
            aria-label="Find an operation"
            value={filter ?? ""}
            onChange={(event) => setFilter(event.target.value || undefined)}
          />
          <select className="in" aria-label="Where" value={shownPlace ?? ""} onChange={(event) => setPlace(event.target.value)}>
            {places.map((id) => (
              <option key={id} value={id}>
                {names[id] ? `${names[id].kind} ${names[id].name}` : "no access"}
              </option>
            ))}
          </select>
        </>
      }
    >
      <Loaded read={read} what="policies" operation="list_policies">
        {() =>
          operations.length === 0 ? (
            <div className="sec">
              <EmptyState>{here.length === 0 ? "No policy is defined here." : "No policy names such an operation here."}</EmptyState>
            </div>
          ) : (
            <table className="matrix" aria-label="Who may do what">
              <thead>
                <tr>
                  <th scope="col">Operation</th>
                  {principals.map((id) => (
                    <th key={id} scope="col">
                      <ObjectName id={id} names={names} kind="Actor" plain />
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {operations.map((name) => (
                  <tr key={name}>
                    <th scope="row">{name === EVERY ? "every operation" : <code>{name}</code>}</th>
                    {principals.map((id) => (
                      <td key={id}>
                        <Cell verdict={verdictOn(here, id, name)} />
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
    </Panel>
  );
}

function Cell({ verdict }: { verdict: Verdict }) {
  if (!verdict) return <span className="hidden">denied</span>;
  return (
    <span className={verdict === "proposable" ? "st" : "st ok"}>
      <Icon name={verdict === "permitted" ? "normal" : "pending"} />
      {verdict}
    </span>
  );
}

/** Return what the policies of a place give a principal: a permission is more than a proposal. */
function verdictOn(policies: readonly Policy[], principal: string, operation: string): Verdict {
  const own = policies.filter(({ permitted_principal_ids }) => permitted_principal_ids.includes(principal));
  if (own.some(({ permitted_commands: given }) => given.includes(operation) || given.includes(EVERY))) return "permitted";
  return own.some(({ proposable_commands }) => proposable_commands.includes(operation)) ? "proposable" : undefined;
}

const plainly = (policies: number, operations: number) => `${operations} operations named by ${policies} policies`;
