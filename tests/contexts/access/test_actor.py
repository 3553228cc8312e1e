"""Actor: who may become one, and what is known of it beside its stream."""

from uuid import UUID

from tests.support.service import INSTALLATION
from tests.support.spec import ABSENT, CALL, LATER, NEW, NOW, Example, Scenario, matrix, misshapen

from beamkeep.contexts.access import actor
from beamkeep.contexts.access.actor import (
    ADMINISTRATORS,
    Actor,
    ActorCannotBindIdentityError,
    ActorCannotDeactivateError,
    ActorCannotForgetError,
    ActorCannotUnbindIdentityError,
    ActorCannotUpdateProfileError,
    ActorDeactivated,
    ActorDetails,
    ActorIdentityAlreadyBoundError,
    ActorIdentityBound,
    ActorIdentityUnbound,
    ActorNotFoundError,
    ActorProfileForgotten,
    ActorProfileUpdated,
    ActorRegistered,
    BindActorIdentity,
    BoundLogin,
    DeactivateActor,
    ForgetActor,
    InvalidActorEmailError,
    InvalidActorExternalIdError,
    InvalidActorIdentityError,
    InvalidActorNameError,
    InvalidActorProfileError,
    Login,
    RegisterActor,
    UnbindActorIdentity,
    UpdateActorProfile,
)
from beamkeep.contexts.access.profile import (
    DEVELOPER,
    IDENTITIES,
    MONITOR,
    PROFILES,
    STANDINGS,
    SYSTEM,
    Identity,
    Profile,
    digest_of,
)
from beamkeep.contexts.trust import administrators
from beamkeep.kernel import (
    ActorKind,
    DenialReason,
    Event,
    Lock,
    Refusal,
    SideWrite,
    Standing,
    replace,
)

ID, OTHER = NEW, UUID(int=2)
AT_DESY = Login(issuer="https://idp.desy.test", subject="lise")
PROFILE = Profile(
    "Lise",
    "lise@desy.test",
    "+49 40",
    "DESY",
    "0000-0001",
    "orcid",
    actor_id=ID,
    created_at=NOW,
    updated_at=NOW,
)

OPERATIONS = tuple(
    operation
    for operation in (*actor.OPERATIONS, *administrators.OPERATIONS)
    if operation.aggregate is actor.actors
)
DIGEST = digest_of(INSTALLATION.login_key, ID, AT_DESY.issuer, AT_DESY.subject)
HELD = Lock(ADMINISTRATORS)

registered = ActorRegistered(NOW, ID, ActorKind.HUMAN)
deactivated = ActorDeactivated(NOW, ID)
profile = PROFILES.insert(PROFILE)
login = IDENTITIES.insert(
    Identity("https://idp.desy.test", "lise", ID), loser=ActorIdentityAlreadyBoundError
)
LISE = (registered, profile, login)
FORGOTTEN = (registered,)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, history)


def logins(number: int) -> list[SideWrite]:
    return [IDENTITIES.insert(Identity("https://idp", f"s{n}", ID)) for n in range(number)]


def test_a_person_is_registered_with_standing_profile_and_logins():
    given().when(
        RegisterActor(
            name="Lise",
            email="lise@desy.test",
            phone="+49 40",
            affiliation="DESY",
            external_id="0000-0001",
            external_id_namespace="orcid",
            identities=(Login(issuer=" https://idp.desy.test ", subject=" lise "),),
        )
    ).then(
        replace(registered, identities=(BoundLogin("https://idp.desy.test", DIGEST),)),
        STANDINGS.insert(Standing(ID, ActorKind.HUMAN)),
        profile,
        login,
    )


def test_a_machine_account_is_registered_with_a_name_alone():
    given().when(RegisterActor(name="Robot", kind="service_account")).then(
        ActorRegistered(NOW, ID, ActorKind.SERVICE_ACCOUNT, ()),
        STANDINGS.insert(Standing(ID, ActorKind.SERVICE_ACCOUNT)),
        PROFILES.insert(Profile("Robot", actor_id=ID, created_at=NOW, updated_at=NOW)),
    )


def test_only_kinds_that_can_be_registered_are_offered():
    offered = RegisterActor.model_json_schema()["properties"]["kind"]["enum"]
    for kind in offered:
        given().when(RegisterActor.model_validate({"name": "Robot", "kind": kind})).then(
            ActorRegistered(NOW, ID, ActorKind(kind), ()),
            STANDINGS.insert(Standing(ID, ActorKind(kind))),
            PROFILES.insert(Profile("Robot", actor_id=ID, created_at=NOW, updated_at=NOW)),
        )
    assert set(ActorKind) - set(offered) == {ActorKind.AGENT}
    misshapen(RegisterActor, "kind", name="x", kind=ActorKind.AGENT)


INVALID: list[tuple[dict[str, str], type[Refusal]]] = [
    ({"email": "lise"}, InvalidActorEmailError),
    ({"email": "@desy.test"}, InvalidActorEmailError),
    ({"email": " @desy.test"}, InvalidActorEmailError),
    ({"email": "lise@"}, InvalidActorEmailError),
    ({"email": "lise@ "}, InvalidActorEmailError),
    ({"email": "@"}, InvalidActorEmailError),
    ({"email": "lise@desy@test"}, InvalidActorEmailError),
    ({"external_id": "1", "external_id_namespace": "ORCID"}, InvalidActorExternalIdError),
    ({"external_id": "1", "external_id_namespace": "or_cid"}, InvalidActorExternalIdError),
    ({"external_id": "1", "external_id_namespace": "orcid\nx"}, InvalidActorExternalIdError),
]


def test_a_profile_that_is_not_usable_is_not_registered():
    for fields, refusal in INVALID:
        given().when(RegisterActor.model_validate({"name": "Lise"} | fields)).refused(refusal)


def test_a_researcher_identifier_comes_with_its_registry():
    given().when(RegisterActor(name="Lise", external_id="1")).refused(InvalidActorExternalIdError)
    given().when(RegisterActor(name="Lise", external_id_namespace="orcid")).refused(
        InvalidActorExternalIdError
    )


def test_the_first_fault_of_a_registration_in_the_order_listed_is_told():
    everything_wrong: dict[str, object] = {
        "name": "Lise",
        "email": "x",
        "external_id": "1",
        "identities": [AT_DESY, AT_DESY],
    }
    corrections: list[tuple[str, object, type[Refusal]]] = [
        ("email", "lise@desy.test", InvalidActorEmailError),
        ("external_id", None, InvalidActorExternalIdError),
        ("identities", [], ActorIdentityAlreadyBoundError),
    ]
    for field, good, refusal in corrections:
        given().when(RegisterActor.model_validate(everything_wrong)).refused(refusal)
        everything_wrong[field] = good


def test_a_login_is_not_named_twice_in_a_registration():
    spaced = Login(issuer="https://idp.desy.test ", subject=" lise")
    given().when(RegisterActor(name="Lise", identities=(AT_DESY, spaced))).refused(
        ActorIdentityAlreadyBoundError, saying="twice"
    )


def test_an_actor_is_deactivated():
    given(registered).when(DeactivateActor(actor_id=ID)).then(
        deactivated,
        STANDINGS.replace(Standing(ID, ActorKind.HUMAN, DenialReason.INACTIVE_PRINCIPAL)),
        HELD,
    )


def test_an_actor_is_not_deactivated_again():
    given(registered, deactivated).when(DeactivateActor(actor_id=ID)).refused(
        ActorCannotDeactivateError, saying="The current state is not active."
    )


def test_system_is_not_deactivated_and_monitor_is():
    for id in (SYSTEM, MONITOR):
        history = given(ActorRegistered(NOW, id, ActorKind.SERVICE_ACCOUNT))
        scenario = history.when(DeactivateActor(actor_id=id))
        if id == SYSTEM:
            scenario.refused(ActorCannotDeactivateError, saying="System")
        else:
            barred = Standing(id, ActorKind.SERVICE_ACCOUNT, DenialReason.INACTIVE_PRINCIPAL)
            scenario.then(ActorDeactivated(NOW, id), STANDINGS.replace(barred))


def test_a_field_left_out_stays_and_null_clears_it():
    call = replace(CALL, now=LATER)
    given(*LISE).when(
        UpdateActorProfile(actor_id=ID, name="Lise M.", email=None, phone="1"), call=call
    ).then(
        ActorProfileUpdated(LATER, ID, ("email", "name", "phone")),
        PROFILES.replace(replace(PROFILE, name="Lise M.", email=None, phone="1", updated_at=LATER)),
    )


def test_a_researcher_identifier_is_cleared_with_its_registry():
    clear = UpdateActorProfile(actor_id=ID, external_id=None, external_id_namespace=None)
    given(*LISE).when(clear).then(
        ActorProfileUpdated(NOW, ID, ("external_id", "external_id_namespace")),
        PROFILES.replace(replace(PROFILE, external_id=None, external_id_namespace=None)),
    )


def test_the_changed_fields_are_named_in_alphabetical_order_and_never_their_values():
    change = UpdateActorProfile(
        actor_id=ID,
        phone="1",
        name="Lise M.",
        external_id="2",
        affiliation="CERN",
        external_id_namespace="ror",
        email="lise@cern.test",
    )
    fields = ("affiliation", "email", "external_id", "external_id_namespace", "name", "phone")
    given(*LISE).when(change).then(
        ActorProfileUpdated(NOW, ID, fields),
        PROFILES.replace(
            Profile(
                "Lise M.",
                "lise@cern.test",
                "1",
                "CERN",
                "2",
                "ror",
                actor_id=ID,
                created_at=NOW,
                updated_at=NOW,
            )
        ),
    )


def test_half_of_the_pair_is_enough_where_the_other_half_is_there():
    given(*LISE).when(UpdateActorProfile(actor_id=ID, external_id="2")).then(
        ActorProfileUpdated(NOW, ID, ("external_id",)),
        PROFILES.replace(replace(PROFILE, external_id="2")),
    )
    given(*LISE).when(UpdateActorProfile(actor_id=ID, external_id=None)).refused(
        InvalidActorExternalIdError
    )


def test_a_profile_is_not_changed_to_one_that_is_not_usable():
    for fields, refusal in INVALID:
        change = UpdateActorProfile.model_validate({"actor_id": ID} | fields)
        given(*LISE).when(change).refused(refusal)


def test_a_name_is_not_cleared():
    given(*LISE).when(UpdateActorProfile(actor_id=ID, name=None)).refused(
        InvalidActorNameError, saying="The name cannot be cleared"
    )


def test_a_change_of_nothing_is_refused():
    given(*LISE).when(UpdateActorProfile(actor_id=ID)).refused(InvalidActorProfileError)


def test_a_forgotten_profile_is_not_changed():
    given(*FORGOTTEN).when(UpdateActorProfile(actor_id=ID, name="Lise")).refused(
        ActorCannotUpdateProfileError
    )


def test_a_bad_value_is_told_before_a_forgotten_profile():
    given(*FORGOTTEN).when(UpdateActorProfile(actor_id=ID, email="x")).refused(
        InvalidActorEmailError
    )


def test_a_profile_of_a_deactivated_actor_is_still_changed():
    given(*LISE, deactivated).when(UpdateActorProfile(actor_id=ID, phone=None)).then(
        ActorProfileUpdated(NOW, ID, ("phone",)),
        PROFILES.replace(replace(PROFILE, phone=None)),
    )


def test_an_actor_is_forgotten_with_every_login():
    other = IDENTITIES.insert(Identity("https://idp.cern.test", "lm", ID))
    somebody_else = IDENTITIES.insert(Identity("https://idp.cern.test", "otto", OTHER))
    given(*LISE, other, somebody_else).when(ForgetActor(actor_id=ID)).then(
        ActorProfileForgotten(NOW, ID),
        PROFILES.delete(ID),
        IDENTITIES.delete("https://idp.cern.test", "lm"),
        IDENTITIES.delete("https://idp.desy.test", "lise"),
        HELD,
    )


def test_an_actor_is_forgotten_without_waiting_for_its_deactivation_or_after_it():
    for history in ((registered, profile), (registered, profile, deactivated)):
        given(*history).when(ForgetActor(actor_id=ID)).then(
            ActorProfileForgotten(NOW, ID), PROFILES.delete(ID), HELD
        )


def test_an_actor_is_not_forgotten_twice():
    given(*FORGOTTEN).when(ForgetActor(actor_id=ID)).refused(ActorCannotForgetError)


BIND = BindActorIdentity(actor_id=ID, issuer="https://idp.desy.test", subject="lise")


def test_a_login_is_bound():
    given(registered, profile).when(BIND).then(
        ActorIdentityBound(NOW, ID, "https://idp.desy.test", DIGEST), login
    )


def test_a_tenth_login_is_bound_and_an_eleventh_is_not():
    given(registered, profile, *logins(9)).when(BIND).then(
        ActorIdentityBound(NOW, ID, "https://idp.desy.test", DIGEST), login
    )
    given(registered, profile, *logins(10)).when(BIND).refused(
        ActorCannotBindIdentityError, saying="The actor has 10 logins"
    )


def test_no_login_is_bound_to_an_actor_that_is_not_active():
    given(registered, profile, deactivated).when(BIND).refused(
        ActorCannotBindIdentityError, saying="not active"
    )


def test_no_login_is_bound_to_an_actor_that_was_forgotten():
    given(*FORGOTTEN).when(BIND).refused(ActorCannotBindIdentityError, saying="forgotten")


def test_nobody_logs_in_as_a_seeded_actor():
    for id in (SYSTEM, MONITOR, DEVELOPER):
        seeded = Profile("Seeded", actor_id=id, created_at=NOW, updated_at=NOW)
        history = ActorRegistered(NOW, id, ActorKind.HUMAN), PROFILES.insert(seeded)
        given(*history).when(BindActorIdentity(actor_id=id, issuer="i", subject="s")).refused(
            ActorCannotBindIdentityError, saying="seeded"
        )


def test_a_login_too_long_for_a_key_of_the_database_is_neither_bound_nor_unbound():
    # 500 and 255 characters are allowed, and each may be four bytes long.
    pair = {"actor_id": ID, "issuer": "\U00020000" * 500, "subject": "\U00020001" * 255}
    login = Login.model_validate({"issuer": pair["issuer"], "subject": pair["subject"]})
    for command in (
        BindActorIdentity.model_validate(pair),
        UnbindActorIdentity.model_validate(pair),
    ):
        given(*LISE).when(command).refused(InvalidActorIdentityError, saying="3020 bytes")
    given().when(RegisterActor(name="Lise", identities=(login,))).refused(
        InvalidActorIdentityError, saying="at most 2500"
    )


def test_a_login_is_unbound():
    given(*LISE).when(
        UnbindActorIdentity(actor_id=ID, issuer="https://idp.desy.test", subject="lise")
    ).then(
        ActorIdentityUnbound(NOW, ID, "https://idp.desy.test", DIGEST),
        IDENTITIES.delete("https://idp.desy.test", "lise"),
        HELD,
    )


def test_a_login_the_actor_does_not_hold_is_not_unbound():
    somebody_else = IDENTITIES.insert(Identity("https://idp.cern.test", "otto", OTHER))
    for issuer, subject in (("https://idp.cern.test", "otto"), ("https://idp.desy.test", "Lise")):
        given(*LISE, somebody_else).when(
            UnbindActorIdentity(actor_id=ID, issuer=issuer, subject=subject)
        ).refused(ActorCannotUnbindIdentityError)


def test_a_login_of_anybody_is_not_bound_again():
    for holder in (ID, OTHER):
        held = IDENTITIES.insert(Identity("https://idp.desy.test", "lise", holder))
        given(registered, profile, held).when(BIND).refused(ActorIdentityAlreadyBoundError)
        given(held).when(RegisterActor(name="Lise", identities=(AT_DESY,))).refused(
            ActorIdentityAlreadyBoundError
        )


def test_an_actor_that_does_not_exist_is_not_changed():
    given(registered).when(DeactivateActor(actor_id=ABSENT)).refused(ActorNotFoundError)


EXAMPLES = [
    Example(DeactivateActor(actor_id=ID), ActorDetails(PROFILE, frozenset())),
    Example(UpdateActorProfile(actor_id=ID, name="Lise"), ActorDetails(PROFILE, frozenset())),
    Example(ForgetActor(actor_id=ID), ActorDetails(PROFILE, frozenset())),
    Example(BIND, ActorDetails(PROFILE, frozenset())),
    Example(
        UnbindActorIdentity(actor_id=ID, issuer="i", subject="s"),
        ActorDetails(PROFILE, frozenset({("i", "s")})),
    ),
]
ACTIVE = """
       deactivate_actor  update_actor_profile  forget_actor  bind_actor_identity  unbind_actor_identity
True   False             True                  True          True                 True
False  -                 False                 False         -                    False
"""  # noqa: E501


def test_an_event_names_a_login_so_that_only_the_own_key_confirms_it():
    digests = {
        digest_of(key, id, issuer, subject)
        for key in (b"k" * 32, b"l" * 32)
        for id in (ID, OTHER)
        for issuer, subject in (("https://idp", "lise"), ("https://idp", "otto"), ("i", "lise"))
    }
    assert len(digests) == 12
    assert {len(digest) for digest in digests} == {64}


def test_every_command_on_an_actor_that_is_active_or_not():
    matrix(
        OPERATIONS,
        (True, False),
        EXAMPLES,
        lambda active: Actor(ID, ActorKind.HUMAN, active),
        lambda actor: actor.active,
        ACTIVE,
    )


def test_every_command_is_tried_on_an_actor_that_is_active_or_not():
    tried = {type(example.command) for example in EXAMPLES}
    assert tried == {operation.command for operation in OPERATIONS if not operation.genesis}


def test_the_profile_of_another_actor_does_not_count():
    foreign = PROFILES.insert(Profile("Otto", actor_id=OTHER, created_at=NOW, updated_at=NOW))
    given(registered, foreign).when(ForgetActor(actor_id=ID)).refused(ActorCannotForgetError)
