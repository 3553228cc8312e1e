"""Titles of operations and words of events follow from their names, or are declared."""

import pytest

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import event_types
from beamkeep.surfaces.tools.finding import text_of, title_of

TITLES = {
    "hold_run": "Hold a run",
    "add_asset_family": "Add a family to an asset",
    "revoke_agent_tool": "Revoke a tool from an agent",
    "update_dataset_retention": "Update the retention of a dataset",
    "mark_supply_recovering": "Mark a supply recovering",
    "start_credential_rotation": "Start the rotation of a credential",
    "get_asset": "Show an asset",
    "get_run_history": "Show the history of a run",
    "list_agent_costs": "List agent costs",
    "forget_actor": "Erase the profile of an actor",
    "get_self": "Show who you are",
}
TEXTS = {
    "VisitArrived": "arrived",
    "PolicyGrantRevoked": "grant revoked",
    "EnclosurePermitObserved": "permit reported",
    "SupplyRestored": "restored, available again",
}


@pytest.mark.parametrize(("name", "title"), TITLES.items())
def test_a_title_follows_from_the_name_unless_one_is_declared(name: str, title: str):
    assert title_of(CATALOGUE.named[name]) == title


def test_no_two_operations_have_the_same_title():
    titles = [title_of(row) for row in CATALOGUE.named.values()]
    assert [title for title in titles if titles.count(title) > 1] == []


@pytest.mark.parametrize(("name", "text"), TEXTS.items())
def test_the_words_of_an_event_follow_from_its_name_unless_they_are_declared(name: str, text: str):
    texts = {
        event.__name__: text_of(event, aggregate)
        for aggregate in CATALOGUE.aggregates.values()
        for event in event_types(aggregate)
    }
    assert texts[name] == text
