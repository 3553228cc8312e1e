"""May this principal make this call: every case of the evaluation, written out."""

from itertools import permutations
from uuid import UUID

import pytest

from beamkeep.kernel import (
    ActorKind,
    Allow,
    AuthzResult,
    DenialReason,
    Deny,
    Grant,
    ObjectScope,
    Standing,
    SurfaceKind,
    authorize,
    replace,
)

LISE, OTTO = UUID(int=1), UUID(int=2)
ENTRY, OTHER = UUID(int=20), UUID(int=22)
HTTP, MCP = UUID(int=30), UUID(int=31)
A, B, C = UUID(int=40), UUID(int=41), UUID(int=42)

ACTIVE = Standing(LISE, ActorKind.HUMAN)
OWN = Grant(A, LISE, ENTRY, HTTP, ("start_visit",), ObjectScope.OWN)
ALL = replace(OWN, policy_id=B, object_scope=ObjectScope.ALL)
ANYTHING = replace(OWN, policy_id=C, permitted_commands=("*",))
NOTHING_MATCHES = Deny(DenialReason.NO_MATCHING_POLICY)


def decide(*grants: Grant, standing: Standing | None = ACTIVE) -> AuthzResult:
    return authorize(standing, grants, "start_visit", ENTRY, HTTP)


@pytest.mark.parametrize(
    ("grants", "verdict"),
    [
        pytest.param((), NOTHING_MATCHES, id="no grant at all"),
        pytest.param((OWN,), Allow((A,), ObjectScope.OWN), id="the command is named"),
        pytest.param((ANYTHING,), Allow((C,), ObjectScope.OWN), id="every command"),
        pytest.param(
            (replace(OWN, permitted_commands=("end", "start_visit")),),
            Allow((A,), ObjectScope.OWN),
            id="the command is one of several",
        ),
        pytest.param(
            (replace(OWN, permitted_commands=("start",)),), NOTHING_MATCHES, id="a part of the name"
        ),
        pytest.param((replace(OWN, permitted_commands=()),), NOTHING_MATCHES, id="no command"),
        pytest.param((replace(OWN, conduit_id=OTHER),), NOTHING_MATCHES, id="another conduit"),
        pytest.param((replace(OWN, surface_id=MCP),), NOTHING_MATCHES, id="another surface"),
        pytest.param((replace(OWN, surface_id=None),), NOTHING_MATCHES, id="null is no wildcard"),
        pytest.param((replace(OWN, principal_id=OTTO),), NOTHING_MATCHES, id="somebody else's"),
        pytest.param((OWN, ALL), Allow((A, B), ObjectScope.ALL), id="All beats Own"),
        pytest.param((OWN, ANYTHING), Allow((A, C), ObjectScope.OWN), id="Own and Own is Own"),
        pytest.param(
            (OWN, replace(ALL, surface_id=MCP)),
            Allow((A,), ObjectScope.OWN),
            id="the scope of a grant for elsewhere does not count",
        ),
        pytest.param(
            (OWN, replace(ALL, permitted_commands=("end",))),
            Allow((A,), ObjectScope.OWN),
            id="the scope of a grant for another command does not count",
        ),
    ],
)
def test_a_call_with_these_grants(grants: tuple[Grant, ...], verdict: AuthzResult):
    assert decide(*grants) == verdict


def test_null_equals_only_null():
    inside = replace(OWN, surface_id=None)
    assert authorize(ACTIVE, [inside], "start_visit", ENTRY, None) == Allow((A,), ObjectScope.OWN)
    assert authorize(ACTIVE, [OWN], "start_visit", ENTRY, None) == NOTHING_MATCHES


def test_the_determining_policies_are_sorted_whatever_order_they_are_found_in():
    for found in permutations((OWN, ALL, ANYTHING)):
        assert decide(*found) == Allow((A, B, C), ObjectScope.ALL)


def test_an_unknown_principal_is_denied_whatever_is_granted():
    assert decide(OWN, standing=None) == Deny(DenialReason.UNKNOWN_PRINCIPAL)


@pytest.mark.parametrize("reason", [DenialReason.INACTIVE_PRINCIPAL, DenialReason.SUSPENDED_AGENT])
def test_a_barred_principal_is_denied_for_that_reason_whatever_is_granted(reason: DenialReason):
    assert decide(ANYTHING, standing=replace(ACTIVE, barred=reason)) == Deny(reason)
    assert decide(standing=replace(ACTIVE, barred=reason)) == Deny(reason)


def test_the_reasons_on_record():
    """Stored and filtered by, so this list only grows."""
    assert [str(reason) for reason in DenialReason] == [
        "unknown_principal",
        "inactive_principal",
        "suspended_agent",
        "no_matching_policy",
        "tool_not_granted",
    ]


def test_an_agent_that_is_suspended_is_denied_although_its_actor_may_act():
    suspended = replace(ACTIVE, agent_barred=DenialReason.SUSPENDED_AGENT)
    assert decide(ANYTHING, standing=suspended) == Deny(DenialReason.SUSPENDED_AGENT)


@pytest.mark.parametrize(
    ("over", "tools", "is_allowed"),
    [
        (SurfaceKind.HTTP, (), True),
        (None, (), True),
        (SurfaceKind.MCP_STDIO, (), False),
        (SurfaceKind.MCP_STDIO, ("start_visit",), True),
        (SurfaceKind.MCP_STREAMABLE_HTTP, ("end_visit",), False),
        (SurfaceKind.MCP_STREAMABLE_HTTP, ("start_visit",), True),
    ],
)
def test_over_mcp_an_agent_needs_the_command_among_its_tools(
    over: SurfaceKind | None, tools: tuple[str, ...], is_allowed: bool
):
    agent = replace(ACTIVE, kind=ActorKind.AGENT, tools=tools)
    verdict = authorize(agent, [OWN], "start_visit", ENTRY, HTTP, over=over)
    allowed = Allow((A,), ObjectScope.OWN)
    assert verdict == (allowed if is_allowed else Deny(DenialReason.TOOL_NOT_GRANTED))
    assert authorize(ACTIVE, [OWN], "start_visit", ENTRY, HTTP, over=over) == allowed
