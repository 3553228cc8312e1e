import { OperationButton } from "../../actions";
import { namesIn, useRead } from "../../api";
import { plural } from "../../text";
import { DataTable, Loaded, ObjectName, Panel } from "../../ui";

/** Show the policies, and let an administrator change who each of them is for. */
export function Policies() {
  const read = useRead("list_policies", { limit: 100 });
  return (
    <Panel
      title="Policies"
      note={read.data && plural(read.data.items.length, "policy", "policies")}
      flush
      end={
        <OperationButton operation="define_policy" size="small">
          Define
        </OperationButton>
      }
    >
      <Loaded read={read} what="policies" operation="list_policies">
        {(data) => (
          <DataTable
            label="Policies"
            rows={data.items}
            rowKey={({ policy_id }) => policy_id}
            empty="No policy is defined."
            columns={[
              {
                key: "name",
                title: "Policy",
                cell: ({ name, surface_id, conduit_id }) => (
                  <span className="two">
                    <b className="b">{name}</b>
                    <span className="dim sm">
                      <ObjectName id={surface_id ?? conduit_id} names={namesIn(data)} plain />
                    </span>
                  </span>
                ),
                sort: ({ name }) => name,
              },
              {
                key: "who",
                title: "For",
                cell: ({ permitted_principal_ids: ids }) => (
                  <>
                    {ids.slice(0, 3).map((id, index) => (
                      <span key={id}>
                        {index > 0 && ", "}
                        <ObjectName id={id} names={namesIn(data)} kind="Actor" plain />
                      </span>
                    ))}
                    {ids.length > 3 && ` and ${ids.length - 3} more`}
                    {ids.length === 0 && <span className="faint">nobody</span>}
                  </>
                ),
              },
              {
                key: "what",
                title: "Operations",
                cell: ({ permitted_commands: permitted, proposable_commands: proposable, object_scope }) => (
                  <span className="two">
                    <span>
                      {permitted.includes("*") ? "every operation" : `${permitted.length} permitted`}
                      {proposable.length > 0 && `, ${proposable.length} proposable`}
                    </span>
                    {object_scope === "Own" && <span className="dim sm">own objects only</span>}
                  </span>
                ),
              },
              {
                key: "acts",
                title: "Grants",
                cell: ({ policy_id, name }) => (
                  <span className="acts line">
                    <OperationButton operation="add_grant" about={{ policy_id }} name={name} size="small" hideReason>
                      Add
                    </OperationButton>
                    <OperationButton operation="revoke_grant" about={{ policy_id }} name={name} size="small" hideReason>
                      Remove
                    </OperationButton>
                  </span>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}
