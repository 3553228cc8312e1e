/** What each command that ends something does to the object, to its data and to what depends on it. */
import type { CommandName } from "../api/names";

export interface Ending {
  /** What the command does, in full sentences. */
  does: string;
  /** Whether no other command undoes it. */
  isForGood: boolean;
}

const forGood = (does: string): Ending => ({ does, isForGood: true });
const undone = (does: string): Ending => ({ does, isForGood: false });

// prettier-ignore
export const ENDINGS: Partial<Record<CommandName, Ending>> = {
  abandon_campaign: forGood("The campaign is given up, and its members can no longer change. Its runs are not changed."),
  abort_procedure: forGood("The procedure ends as aborted and cannot be resumed. What was recorded about it is kept."),
  abort_run: forGood("The run ends as aborted and cannot be resumed. What it has recorded is kept."),
  abort_visit: forGood("The visit ends as aborted and cannot be resumed. It gives up control of its surface."),
  cancel_visit: forGood("The visit ends as cancelled and cannot take place any more. It gives up control of its surface."),
  close_campaign: forGood("The campaign ends as complete, and its members can no longer change. Its runs are not changed."),
  complete_procedure: forGood("The procedure ends as completed and cannot be resumed. What was recorded about it is kept."),
  complete_run: forGood("The run ends as completed and cannot be resumed. What it has recorded is kept."),
  complete_visit: forGood("The visit ends as completed. It gives up control of its surface."),
  deactivate_actor: forGood("Every later call of this actor is denied. The profile of the actor is kept."),
  decommission_asset: forGood("The asset cannot be used by any later run. The assets below it are not changed, and its history is kept."),
  decommission_enclosure: forGood("The enclosure takes no report any more. An asset that is still located in it blocks starts until the asset is moved."),
  decommission_facility: forGood("The facility ends, and its code cannot be used again."),
  decommission_frame: forGood("No active frame and no active mount may be placed in this frame any more."),
  decommission_mount: forGood("No asset can be installed in this mount any more."),
  demote_dataset: forGood("The dataset ends as retracted and cannot be promoted again. Its copies are kept, and the datasets derived from it are not changed."),
  deprecate_agent: forGood("Every later call of this agent is denied. Its decisions are kept."),
  deprecate_capability: forGood("No method and no recipe can newly use this capability. Those that use it keep working."),
  deprecate_family: forGood("No asset and no model can join this family. Its members are not changed."),
  deprecate_method: forGood("No practice can newly use this method. Those that use it keep working."),
  deprecate_model: forGood("No asset can be registered with this model. Its assets are not changed."),
  deprecate_plan: forGood("No run can start from this plan any more. Its runs are not changed."),
  deprecate_practice: forGood("No plan can newly follow this practice. Those that follow it keep working."),
  deprecate_recipe: forGood("No procedure can newly follow this recipe. Its versions stay readable."),
  deregister_supply: forGood("The supply takes no report any more and covers no run. Its history is kept."),
  discard_dataset: forGood("From now on, every copy of this dataset may be discarded and then deleted: its data may be lost. The record of the dataset is kept."),
  discard_distribution: undone("The bytes of this copy may be deleted from now on, and it no longer counts as a copy. It can be restored until its bytes are deleted."),
  discard_subject: forGood("The subject ends as discarded and cannot be measured again. The data about it are kept."),
  expire_clearance: forGood("The clearance ends now, and covers no start any more. A new clearance is needed to continue."),
  forget_actor: forGood("The name, every other personal datum and the logins of this actor are erased, and nobody can read them again. What the actor did stays recorded under its id."),
  mark_distribution_overwritten: forGood("The bytes of this copy count as lost, and its place is free for another copy."),
  mint_edition_external_id: forGood("The DOI is registered outside this service and is public. It can be hidden from search, but not deleted."),
  reject_clearance: forGood("The clearance ends as rejected and cannot be reviewed again. A new clearance is needed."),
  reject_proposal: forGood("The proposal is closed, and its command is not carried out. The same command can be proposed again."),
  retire_caution: forGood("The caution is shown at no start any more. It stays in the history."),
  retire_subscription: forGood("Nothing is delivered any more. The secret and the bookmark of the subscription are deleted."),
  return_subject: forGood("The subject ends as returned to its sender and cannot be measured again. The data about it are kept."),
  revoke_credential: forGood("Nothing that the keys of this credential sign counts from now on."),
  revoke_permit: forGood("Nothing is exchanged under this permit any more. What was exchanged is kept."),
  stop_run: forGood("The run ends early on purpose and cannot be resumed. Its data are valid and kept."),
  store_subject: forGood("The subject ends as stored and cannot be measured again. The data about it are kept."),
  supersede_caution: forGood("A new caution about the same target takes the place of this one, which is shown at no start any more."),
  truncate_procedure: forGood("The procedure is closed as one that ended unnoticed, and cannot be resumed. What was recorded about it is kept."),
  truncate_run: forGood("The run is closed as one that died unnoticed, and cannot be resumed. What it has recorded is kept."),
  void_visit: forGood("The visit is marked as one that should not have been registered. It gives up control of its surface."),
  withdraw_edition: forGood("The edition ends as withdrawn, and the page of a published one says so. Its datasets are not changed."),
};
