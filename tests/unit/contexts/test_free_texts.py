"""Every text of an event is marked as one that may name a person, or listed here as none."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAliasType, get_args, get_origin, get_type_hints

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import MayContainPersonalData, Record, event_types

# Names of things, codes, addresses, what other systems call a thing, and values and schemas that
# a declaration bounds. None of them is written to tell something about a person.
NOT_FREE = """
Actor        changed_fields identities.issuer identities.subject_digest issuer subject_digest
Zone         name
Conduit      name
Surface      name
Policy       name permitted_commands proposable_commands
Team         external_refs title
Visit        external_refs
Facility     code name
Credential   audience key_check_signature pending_key_check_signature pending_public_key public_key
Permit       audience
Seal         head_hash key_fingerprint new_key_fingerprint new_public_key offline_root_signature \
    previous_key_fingerprint signature
Enclosure    facility_code monitor_ref name
Family       name settings_schema version_tag
Model        manufacturer.identifier manufacturer.name name part_number version_tag
Asset        alternate_identifiers.value external_id facility_code name settings value
Mount        slot_code
Frame        name
Supply       facility_code kind monitor_ref name
Subject      external_id name
Decision     context
Capability   code name parameters_schema version_tag
Method       name needed_supplies parameters_schema version_tag
Practice     facility_code name version_tag
Plan         default_parameters name version_tag
Recipe       name steps version_tag
Run          acknowledged_cautions advisories debriefer_kind external_refs parameters \
             plan_version_tag progress.channel_name raid
Procedure    acknowledged_cautions advisories bindings coordinate failure kind loop steps \
             version_tag
Calibration  operating_point value
Campaign     external_refs name
Clearance    bindings facility_code kind
Dataset      algorithms checksum.value digests encoding.conforms_to encoding.media_type \
    external_id license publisher_facility_code
Distribution checksum.value encoding.conforms_to encoding.media_type failure file.device \
    file.host file.inode
Attestation  evidence
Edition      content_hash external_id license publisher_facility_code
Subscription facility_code host name stream_types types
Agent        kind model_ref.model model_ref.provider model_ref.snapshot_pin name tool_name tools \
    version
Proposal     basis command_name digest target.stream_type would_write written.stream_type
"""

ALIKE = {
    "acknowledged": "advisories",
    "closing_steps": "steps",
    "closing_failures": "failure",
    "capability_version_tag": "version_tag",
    "override_parameters": "parameters",
    "effective_parameters": "parameters",
    "parameters_patch": "parameters",
}
WHOLE = ("steps", "bindings", "acknowledged_cautions", "advisories", "failure")
"""Fields that are listed as one, whatever texts they hold."""


def unmarked(hint: Any, path: str) -> Iterator[str]:
    """The places within a field at which a text stands that is not marked."""
    if isinstance(hint, TypeAliasType):
        yield from unmarked(hint.__value__, path)
    elif get_origin(hint) is Annotated:
        held, *marks = get_args(hint)
        if not any(isinstance(mark, MayContainPersonalData) for mark in marks):
            yield from unmarked(held, path)
    elif get_origin(hint) is not Literal and get_args(hint):
        for part in get_args(hint):
            yield from unmarked(part, path)
    elif hint is str:
        yield path
    elif isinstance(hint, type) and issubclass(hint, Record):
        for name, held in get_type_hints(hint, include_extras=True).items():
            yield from unmarked(held, path if path in WHOLE else f"{path}.{name}")


def test_every_text_of_an_event_is_marked_as_free_or_listed_as_none():
    found: defaultdict[str, set[str]] = defaultdict(set)
    for aggregate in CATALOGUE.aggregates.values():
        for event in event_types(aggregate):
            for name, hint in get_type_hints(event, include_extras=True).items():
                found[aggregate.name].update(unmarked(hint, ALIKE.get(name, name)))
    lines = [line.split() for line in NOT_FREE.strip().splitlines()]
    assert {name: sorted(each) for name, each in found.items() if each} == {
        name: listed for name, *listed in lines
    }
