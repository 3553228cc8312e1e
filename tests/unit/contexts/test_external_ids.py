"""No identifier of another system has characters that nobody sees."""

import pytest

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.data.external_id import require_doi
from beamkeep.contexts.seams.outside import identifier, outside_references
from beamkeep.kernel import Command, Invalid

BY_RULE = {"assign_dataset_external_id", "assign_edition_external_id"}
"""The commands whose rule checks the DOI."""
COMMANDS: dict[str, type[Command]] = {
    row.name: row.command
    for row in CATALOGUE.operations
    if "external_id" in row.command.model_fields
}


class WrongIdError(Invalid):
    """The identifier is wrong."""


def test_these_commands_take_an_identifier():
    assert set(COMMANDS) - BY_RULE == {
        "assign_subject_external_id",
        "assign_asset_external_id",
        "register_actor",
        "update_actor_profile",
    }


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - BY_RULE))
@pytest.mark.parametrize("text", ["a\x00b", "a\nb", "a\u202eb"])
def test_an_identifier_with_unseen_characters_is_refused(name: str, text: str):
    command = COMMANDS[name]
    with pytest.raises(Invalid, match="cannot be seen"):
        command.__pydantic_validator__.validate_assignment(
            command.model_construct(), "external_id", text
        )


@pytest.mark.parametrize("text", ["10.1234/a\x00b", "10.1234/a\u200bb", "10.1234/\x1b[31m"])
def test_a_doi_with_unseen_characters_is_refused(text: str):
    with pytest.raises(WrongIdError):
        require_doi(text, WrongIdError)


@pytest.mark.parametrize("text", ["a\nb", "a\x00b", "a\u200bb", "a\u202eb", "a\u00a0b", "\x7f"])
def test_an_identifier_has_no_character_that_nobody_sees(text: str):
    for read in (
        lambda: identifier(text, WrongIdError),
        lambda: outside_references({"proposal": text}, WrongIdError),
        lambda: outside_references({text: "1"}, WrongIdError),
    ):
        with pytest.raises(WrongIdError, match="cannot be seen"):
            read()
    assert identifier(" Zür ich/1 ", WrongIdError) == "Zür ich/1"
