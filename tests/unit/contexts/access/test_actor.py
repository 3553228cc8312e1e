"""Actor: who may become one, and what is known of it beside its stream."""

from uuid import UUID

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
    ConfirmActorIdentity,
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
    UnconfirmedLogin,
    UpdateActorProfile,
)
from beamkeep.contexts.access.profile import (
    ACTOR_STANDINGS,
    DEVELOPER,
    IDENTITIES,
    MONITOR,
    PROFILES,
    STANDINGS,
    SYSTEM,
    ActorStanding,
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
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import ABSENT, CALL, LATER, ME, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix

ID, OTHER = NEW, UUID(int=2)
AT_DESY = Login(issuer="https://idp.desy.test", subject="lise")
DETAILS: dict[str, str] = {
    "name": "Lise",
    "email": "lise@desy.test",
    "phone": "+49 40",
    "affiliation": "DESY",
    "external_id": "0000-0001",
    "external_id_namespace": "orcid",
}
PROFILE = Profile(**DETAILS, actor_id=ID, created_at=NOW, updated_at=NOW)

OPERATIONS = tuple(
    operation
    for operation in (*actor.OPERATIONS, *administrators.OPERATIONS)
    if operation.aggregate is actor.actors
)
DIGEST = digest_of(FACTS.login_key, ID, AT_DESY.issuer, AT_DESY.subject)
HELD = Lock(ADMINISTRATORS)
HERSELF = replace(CALL, principal_id=ID)

registered = ActorRegistered(NOW, ID, ActorKind.HUMAN)
deactivated = ActorDeactivated(NOW, ID)
profile = PROFILES.insert(PROFILE)
login = IDENTITIES.insert(
    Identity("https://idp.desy.test", "lise", ID), loser=ActorIdentityAlreadyBoundError
)
LISE = (registered, profile, login)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, history)


def logins(number: int) -> list[SideWrite]:
    return [IDENTITIES.insert(Identity("https://idp", f"s{n}", ID)) for n in range(number)]


def test_a_person_is_registered_with_standing_profile_and_logins():
    blanks_around = {"issuer": " https://idp.desy.test ", "subject": " lise "}
    told = {**DETAILS, "identities": [blanks_around]}
    given().when(RegisterActor.model_validate(told)).then(
        replace(
            registered,
            identities=(BoundLogin("https://idp.desy.test", DIGEST),),
            bound_by=ME,
            confirmed=False,
        ),
        STANDINGS.insert(Standing(ID, ActorKind.HUMAN)),
        profile,
        login,
    )


def test_a_person_or_a_machine_account_is_registered_with_a_name_alone_and_an_agent_is_not():
    offered = RegisterActor.model_json_schema()["properties"]["kind"]["enum"]
    for kind in offered:
        given().when(RegisterActor.model_validate({"name": "Robot", "kind": kind})).then(
            ActorRegistered(NOW, ID, ActorKind(kind), ()),
            STANDINGS.insert(Standing(ID, ActorKind(kind))),
            PROFILES.insert(Profile("Robot", actor_id=ID, created_at=NOW, updated_at=NOW)),
        )
    assert set(ActorKind) - set(offered) == {ActorKind.AGENT}


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
    ({"external_id": "1", "external_id_namespace": "orcid x"}, InvalidActorExternalIdError),
]


def test_a_profile_that_is_not_usable_is_not_registered():
    for fields, refusal in INVALID:
        given().when(RegisterActor.model_validate({"name": "Lise"} | fields)).refused(refusal)


def test_a_researcher_identifier_comes_with_its_registry():
    for half in ("external_id", "external_id_namespace"):
        command = RegisterActor.model_validate({"name": "Lise", half: "orcid"})
        given().when(command).refused(InvalidActorExternalIdError, saying=" is missing.")


def test_the_first_fault_of_a_registration_in_the_order_listed_is_reported():
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
        ACTOR_STANDINGS.replace(
            ActorStanding(ID, ActorKind.HUMAN, DenialReason.INACTIVE_PRINCIPAL)
        ),
        HELD,
    )


def test_an_actor_is_not_deactivated_again():
    given(registered, deactivated).when(DeactivateActor(actor_id=ID)).refused(
        ActorCannotDeactivateError, saying="The current state is not active."
    )


def test_system_is_not_deactivated_and_monitor_is():
    machines = [ActorRegistered(NOW, id, ActorKind.SERVICE_ACCOUNT) for id in (SYSTEM, MONITOR)]
    system = given(*machines).when(DeactivateActor(actor_id=SYSTEM))
    system.refused(ActorCannotDeactivateError, saying="System")
    barred = ActorStanding(MONITOR, ActorKind.SERVICE_ACCOUNT, DenialReason.INACTIVE_PRINCIPAL)
    monitor = given(*machines).when(DeactivateActor(actor_id=MONITOR))
    monitor.then(ActorDeactivated(NOW, MONITOR), ACTOR_STANDINGS.replace(barred))


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
    new = {name: f"{value}.x" for name, value in DETAILS.items()} | {"external_id_namespace": "ror"}
    fields = ("affiliation", "email", "external_id", "external_id_namespace", "name", "phone")
    given(*LISE).when(UpdateActorProfile.model_validate({"actor_id": ID, **new})).then(
        ActorProfileUpdated(NOW, ID, fields), PROFILES.replace(replace(PROFILE, **new))
    )


def test_half_of_the_pair_is_enough_where_the_other_half_is_there():
    given(*LISE).when(UpdateActorProfile(actor_id=ID, external_id="2")).then(
        ActorProfileUpdated(NOW, ID, ("external_id",)),
        PROFILES.replace(replace(PROFILE, external_id="2")),
    )
    clear = UpdateActorProfile(actor_id=ID, external_id=None)
    given(*LISE).when(clear).refused(InvalidActorExternalIdError)


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


def test_a_forgotten_profile_is_not_changed_and_a_bad_value_is_reported_first():
    forgotten, bad = given(registered), UpdateActorProfile(actor_id=ID, email="x")
    forgotten.when(bad).refused(InvalidActorEmailError)
    good = UpdateActorProfile(actor_id=ID, name="Lise")
    forgotten.when(good).refused(ActorCannotUpdateProfileError)


def test_a_profile_of_a_deactivated_actor_is_still_changed():
    given(*LISE, deactivated).when(UpdateActorProfile(actor_id=ID, phone=None)).then(
        ActorProfileUpdated(NOW, ID, ("phone",)), PROFILES.replace(replace(PROFILE, phone=None))
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


def test_an_actor_without_a_profile_of_its_own_is_not_forgotten():
    foreign = PROFILES.insert(Profile("Otto", actor_id=OTHER, created_at=NOW, updated_at=NOW))
    for past in ((registered,), (registered, foreign)):
        given(*past).when(ForgetActor(actor_id=ID)).refused(ActorCannotForgetError)


BIND = BindActorIdentity(actor_id=ID, issuer="https://idp.desy.test", subject="lise")


def test_up_to_ten_logins_are_bound():
    bound = ActorIdentityBound(
        *(NOW, ID, "https://idp.desy.test", DIGEST), bound_by=ME, confirmed=False
    )
    for number in (0, 9):
        given(registered, profile, *logins(number)).when(BIND).then(bound, login)


def test_no_login_is_bound_to_an_actor_with_ten_or_one_that_is_not_active_or_forgotten():
    for past, saying in (
        ((registered, profile, *logins(10)), "The actor has 10 logins"),
        ((registered, profile, deactivated), "not active"),
        ((registered,), "forgotten"),
    ):
        given(*past).when(BIND).refused(ActorCannotBindIdentityError, saying)


def test_nobody_logs_in_as_a_seeded_actor():
    for id in (SYSTEM, MONITOR, DEVELOPER):
        seeded = Profile("Seeded", actor_id=id, created_at=NOW, updated_at=NOW)
        history = ActorRegistered(NOW, id, ActorKind.HUMAN), PROFILES.insert(seeded)
        given(*history).when(BindActorIdentity(actor_id=id, issuer="i", subject="s")).refused(
            ActorCannotBindIdentityError, saying="seeded"
        )


def test_a_login_too_long_for_a_key_of_the_database_is_neither_bound_nor_unbound():
    # 500 and 255 characters are allowed, and each may be four bytes long.
    long = Login(issuer="\U00020000" * 500, subject="\U00020001" * 255)
    for command in (BindActorIdentity, UnbindActorIdentity):
        asked = given(*LISE).when(command(actor_id=ID, issuer=long.issuer, subject=long.subject))
        asked.refused(InvalidActorIdentityError, saying="3020 bytes")
    asked = given().when(RegisterActor(name="Lise", identities=(long,)))
    asked.refused(InvalidActorIdentityError, saying="at most 2500")


def test_a_login_is_unbound():
    unbind = UnbindActorIdentity(actor_id=ID, issuer=AT_DESY.issuer, subject="lise")
    given(*LISE).when(unbind, call=HERSELF).then(
        ActorIdentityUnbound(NOW, ID, "https://idp.desy.test", DIGEST),
        IDENTITIES.delete("https://idp.desy.test", "lise"),
        HELD,
    )


def test_a_login_the_actor_does_not_hold_is_not_unbound():
    somebody_else = IDENTITIES.insert(Identity("https://idp.cern.test", "otto", OTHER))
    for issuer, subject in (("https://idp.cern.test", "otto"), ("https://idp.desy.test", "Lise")):
        unbind = UnbindActorIdentity(actor_id=ID, issuer=issuer, subject=subject)
        given(*LISE, somebody_else).when(unbind, call=HERSELF).refused(
            ActorCannotUnbindIdentityError
        )


def test_a_login_of_anybody_is_not_bound_again():
    for holder in (ID, OTHER):
        held = IDENTITIES.insert(Identity("https://idp.desy.test", "lise", holder))
        given(registered, profile, held).when(BIND).refused(ActorIdentityAlreadyBoundError)
        register = RegisterActor(name="Lise", identities=(AT_DESY,))
        given(held).when(register).refused(ActorIdentityAlreadyBoundError)


def test_an_actor_that_does_not_exist_is_not_changed():
    given(registered).when(DeactivateActor(actor_id=ABSENT)).refused(ActorNotFoundError)


KNOWN = ActorDetails(PROFILE, frozenset({("i", "s")}))
ASKED = replace(KNOWN, permitted_everything=True)
ADMINISTRATOR = replace(CALL, principal_id=OTHER)
TO_CONFIRM = UnconfirmedLogin("i", digest_of(b"", ID, "i", "s"), OTHER)
EXAMPLES = [
    Example(DeactivateActor(actor_id=ID), KNOWN),
    Example(UpdateActorProfile(actor_id=ID, name="Lise"), KNOWN),
    Example(ForgetActor(actor_id=ID), KNOWN),
    Example(BIND, KNOWN),
    Example(ConfirmActorIdentity(actor_id=ID, issuer="i", subject="s"), ASKED, ADMINISTRATOR),
    Example(UnbindActorIdentity(actor_id=ID, issuer="i", subject="s"), KNOWN, HERSELF),
]
ACTIVE = """
       deactivate_actor  update_actor_profile  forget_actor  bind_actor_identity  confirm_actor_identity  unbind_actor_identity
True   False             True                  True          True                 True                    True
False  -                 False                 False         -                    False                   False
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
        lambda active: Actor(ID, ActorKind.HUMAN, active, frozenset({TO_CONFIRM})),
        lambda actor: actor.active,
        ACTIVE,
    )


def test_every_command_is_tried_on_an_actor_that_is_active_or_not():
    tried = {type(example.command) for example in EXAMPLES}
    assert tried == {operation.command for operation in OPERATIONS if not operation.genesis}
