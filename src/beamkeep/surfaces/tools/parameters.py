"""The texts of parameters that their declarations leave to their names."""

from collections.abc import Collection, Mapping

OF_QUESTIONS: Mapping[str, str] = {
    "limit": "Most items of one page.",
    "principal_id": "Id of the actor that calls.",
    "command_name": "Name of the operation or question that would be called.",
    "version_number": "Number of the version.",
    "started_from": "Only items that started at this time or later.",
    "started_to": "Only items that started before this time.",
    "sampled_from": "Only items sampled at this time or later.",
    "sampled_to": "Only items sampled before this time.",
    "from": "Beginning of the shift.",
    "to": "End of the shift.",
}

OF_OPERATIONS: Mapping[str, str] = {
    "advisor": "Name of the installed advisor that proposes the next point.",
    "affiliation": "Institution of the person.",
    "category": "Category of the caution.",
    "choice": "What was decided.",
    "closing_steps": "Steps that are carried out at the end, however it ends.",
    "comment": "Why this rating was given.",
    "confidence_source": "How the confidence was found.",
    "criterion": "When the iterations have converged.",
    "decision": "What the reviewer decided.",
    "default_parameters": "Values of the parameters that a run does not name.",
    "description": "What it is for, in words.",
    "email": "Address of the person for mail.",
    "entries": "The rows to append, oldest first.",
    "external_id_namespace": "System that issued the external id.",
    "facility_code": "Code of the facility that it belongs to.",
    "hazards": "Hazards of the work that the clearance covers.",
    "identities": "Logins of the actor: issuer and subject of each.",
    "issuer": "Issuer of the login, spelled as in its tokens.",
    "iteration_index": "Number of the iteration, from 0.",
    "kind": "Which kind it is.",
    "manufacturer": "Who makes the model.",
    "max_iterations": "Most iterations before the conduct ends.",
    "name": "Name by which people know it.",
    "needed_supplies": "Kinds of supplies that the method needs.",
    "notes": "What the reviewer remarks.",
    "objective": "What the advisor improves, and in which direction.",
    "override_kind": "How the decision departs from what was proposed.",
    "parameters_schema": "JSON Schema of the parameters.",
    "part_number": "Part number of the manufacturer.",
    "permit_status": "What the interlock reports.",
    "permitted_commands": "Names of the operations and questions that are permitted; * for all.",
    "permitted_principal_id": "Id of the actor whose grant it is.",
    "permitted_principal_ids": "Ids of the actors that are permitted.",
    "phone": "Telephone number of the person.",
    "placement": "Position and orientation in the parent frame.",
    "planned_end_at": "Time at which the visit should end.",
    "planned_start_at": "Time at which the visit should start.",
    "rating": "How good the decision was.",
    "reason": "Why, in words. It is recorded for good, so name no person.",
    "reasoning": "Why this was decided.",
    "retire_reason": "Why the caution no longer holds.",
    "risk_band": "How much risk the work has.",
    "settings_schema": "JSON Schema of the settings of assets of this family.",
    "source": "Where the values come from.",
    "space": "Ranges in which the advisor may search.",
    "status": "The status that is reported.",
    "subject": "Subject of the login at its issuer.",
    "tags": "Words by which it is found.",
    "text": "The entry, in words.",
    "tier": "Which level of the equipment it is.",
    "type": "Which type it is.",
    "valid_from": "Time from which it holds.",
    "valid_until": "Time until which it holds.",
    "value": "The identifier.",
    "version_tag": "Name of the new version.",
    "window": "When the plan may run.",
}


def parameter_text(name: str, reads: bool, required: Collection[str]) -> str:
    """Return what a parameter is; a filter of a list is distinguished from what a call is about."""
    if text := (OF_QUESTIONS if reads else OF_OPERATIONS).get(name):
        return text
    words = name.removesuffix("_ids").removesuffix("_id").replace("_", " ")
    if reads and name not in required:
        return f"Only items with this {words}."
    if name.endswith("_ids"):
        return f"Ids of each {words}."
    return f"Id of the {words}." if name.endswith("_id") else ""
