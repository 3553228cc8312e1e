"""Subscription: registered with a secret, paused, resumed, retired; its dead letters settled."""

from collections.abc import Set
from datetime import timedelta
from uuid import UUID

from beamkeep.contexts.access.profile import SYSTEM
from beamkeep.contexts.feed.subscription import (
    BOOKMARKS,
    DELIVERIES,
    MOST,
    MOST_OWN,
    OPERATIONS,
    SECRETS,
    SLOTS,
    Continuation,
    DeliveryCannotRetryError,
    DeliveryCannotSkipError,
    DeliveryNotFoundError,
    DeliveryRetried,
    DeliverySkipped,
    DeliveryStatus,
    EventDelivery,
    InvalidSubscriptionFilterError,
    InvalidSubscriptionUrlError,
    PauseSubscription,
    RegisterSubscription,
    ResumeFrom,
    ResumeSubscription,
    RetireSubscription,
    RetryDelivery,
    RotateSubscriptionSecret,
    Rotation,
    ShownSecret,
    SkipDelivery,
    Subscription,
    SubscriptionCannotPauseError,
    SubscriptionCannotRegisterError,
    SubscriptionCannotResumeError,
    SubscriptionCannotRetireError,
    SubscriptionCannotRotateSecretError,
    SubscriptionFormat,
    SubscriptionPaused,
    SubscriptionPlace,
    SubscriptionRegistered,
    SubscriptionResumed,
    SubscriptionRetired,
    SubscriptionSecretRotated,
    SubscriptionSecrets,
    SubscriptionStatus,
    begin,
    evolve,
)
from beamkeep.contexts.seams.installation import Readers
from beamkeep.contexts.seams.log import EventPage, ListEvents, UnknownEventTypeError
from beamkeep.contexts.seams.receivers import NewSecret, ReceiverHosts
from beamkeep.contexts.seams.work import WORK_TURNS, WorkTurn
from beamkeep.contexts.trust.trigger import TriggerSource
from beamkeep.kernel import (
    CLAIMS,
    WORK,
    ActorKind,
    Claim,
    Event,
    SideWrite,
    Sight,
    Work,
    claim_key,
    replace,
)
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import CALL, LATER, ME, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix

ID, RUN, EVENT, OTHER = NEW, UUID(int=5), UUID(int=6), UUID(int=7)
URL = "https://chat.lab.test/hooks/secret?for=ada"
FIRST, SECOND = NewSecret(UUID(int=11), "whsec_1"), NewSecret(UUID(int=12), "whsec_2")
AFTER = replace(CALL, now=LATER)


class Keeper:
    """Seals a text by naming the subscription."""

    def __init__(self, made: NewSecret = FIRST) -> None:
        self._made = made

    def new(self) -> NewSecret:
        return self._made

    def seal(self, text: str, subscription_id: UUID) -> str:
        return f"{subscription_id.int}:{text}"

    def open(self, sealed: str, subscription_id: UUID) -> str:
        return sealed.removeprefix(f"{subscription_id.int}:")


class EndOfLog:
    """A log that always ends at the same place."""

    event_types: Set[str] = frozenset({"RunAborted", "RunHeld", "ZoneDefined"})
    stream_types: Set[str] = frozenset({"Run", "Zone"})

    async def page(self, query: ListEvents, sight: Sight | None) -> EventPage:
        assert query.after == "now"
        return EventPage((), next_cursor="end", more=False)


HERE = replace(
    FACTS,
    receivers=ReceiverHosts(
        ("chat.lab.test", "plain.lab.test", "*.hooks.test:8443"), ("plain.lab.test",)
    ),
)
READERS = Readers(secrets=Keeper(), events=EndOfLog())
registered = SubscriptionRegistered(
    occurred_at=NOW,
    subscription_id=ID,
    name="Shift chat",
    types=("RunAborted", "RunHeld"),
    stream_types=(),
    stream_ids=(RUN,),
    host="chat.lab.test",
    format=SubscriptionFormat.TEXT,
    secret_id=FIRST.secret_id,
)
paused = SubscriptionPaused(NOW, ID, "noisy", trigger=TriggerSource.OPERATOR)
resumed = SubscriptionResumed(NOW, ID, ResumeFrom.NOW)
retired = SubscriptionRetired(NOW, ID, "closed")
secrets = SubscriptionSecrets(ID, f"1:{URL}", "1:whsec_1")
place = SubscriptionPlace(ID, ME, "end")
SENDING, REFUSED, SKIPPED = DeliveryStatus.SENDING, DeliveryStatus.REFUSED, DeliveryStatus.SKIPPED
sending = EventDelivery(
    subscription_id=ID,
    event_id=EVENT,
    event_type="RunHeld",
    stream_type="Run",
    stream_id=RUN,
    cursor="there",
    status=SENDING,
    attempt=3,
    first_at=NOW - timedelta(hours=1),
    at=NOW,
    due_at=NOW,
    http_status=503,
    error="ServerError",
)
refused = replace(sending, status=REFUSED, due_at=None, http_status=404)
ANEW = {"status": SENDING, "attempt": 0, "first_at": LATER, "at": LATER, "due_at": None}
SETTLED = {"status": SKIPPED, "at": LATER, "due_at": None}
OFFERED = WORK_TURNS.replace(WorkTurn(ID, None, LATER))
ENDED = WORK_TURNS.replace(WorkTurn(ID, LATER, LATER))
SLOT = CLAIMS.insert(Claim(SLOTS, claim_key(0), ID))
BESIDE = (SECRETS.insert(secrets), BOOKMARKS.insert(place), SLOT)

PAUSE = PauseSubscription(subscription_id=ID, reason=" noisy ")
ON = ResumeSubscription.model_validate({"subscription_id": ID, "from": "where_it_stopped"})
ON_FROM_NOW = ResumeSubscription.model_validate({"subscription_id": ID, "from": "now"})
ROTATE = RotateSubscriptionSecret(subscription_id=ID)
RETIRE = RetireSubscription(subscription_id=ID, reason="closed")
RETRY = RetryDelivery(subscription_id=ID, event_id=EVENT)
SKIP = SkipDelivery(subscription_id=ID, event_id=EVENT, reason=" moot ")


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, history, HERE, READERS)


def registering(**changes: object) -> RegisterSubscription:
    return RegisterSubscription.model_validate(
        {
            "name": " Shift chat ",
            "url": URL,
            "format": "Text",
            "types": ["RunHeld", "RunAborted"],
            "stream_ids": [RUN],
        }
        | changes
    )


def test_a_subscription_is_registered_from_now_on_and_its_address_is_in_no_event():
    given().when(registering()).then(
        registered,
        SECRETS.insert(secrets),
        BOOKMARKS.insert(place),
        WORK.insert(Work(ID, "subscription", ID)),
        SLOT,
        ShownSecret("whsec_1"),
    )


def test_a_subscription_needs_a_filter():
    given().when(registering(types=[], stream_ids=[])).refused(InvalidSubscriptionFilterError)
    each: tuple[dict[str, object], ...] = (
        {"types": ["RunHeld"]},
        {"stream_types": ["Run"]},
        {"stream_ids": [RUN]},
        {"facility_code": "north"},
    )
    none: dict[str, object] = {"types": [], "stream_ids": []}
    for one in each:
        given().when(registering(**none | one)).decided()


WRONG: tuple[tuple[dict[str, object], str], ...] = (
    ({"types": ["RunAborted", "RunAbort"]}, "RunAborted"),
    ({"types": ["beamkeep.RunHeld"]}, "RunHeld"),
    ({"stream_types": ["Runs"]}, "Run"),
)


def test_a_filter_that_no_event_can_pass_is_refused_and_the_nearest_name_shown():
    for wrong, nearest in WRONG:
        refused = given().when(registering(**wrong)).refused(UnknownEventTypeError)
        assert (refused.status, refused.facts) == (422, {"nearest": nearest})


ALLOWED = (
    "https://chat.lab.test",
    "https://CHAT.lab.test:443/x",
    "https://a.hooks.test:8443/x?y=z",
    "https://a.b.hooks.test:8443",
    "http://plain.lab.test/x",
)
FORBIDDEN = (
    "http://chat.lab.test/x",
    "https://chat.lab.test:8443/x",
    "https://a.hooks.test/x",
    "https://hooks.test:8443/x",
    "https://evilhooks.test:8443/x",
    "https://chat.lab.test.evil.test/x",
    "https://chat.lab.test./x",
    "https://evil.test/chat.lab.test",
    "https://evil.test#chat.lab.test",
    "https://chat.lab.test#x",
    "https://ada@chat.lab.test/x",
    "https://chat.lab.test@evil.test/x",
    "https://chat.lab.test:x@evil.test/x",
    "https://evil.test\\@chat.lab.test/x",
    "https://chat.lab.test\\.evil.test/x",
    "https://chat.lab.test%2eevil.test/x",
    "https://chat.lab.test%00.evil.test/x",
    "https://chat.lab.test\t/x",
    "https://chat.lab.test:/x",
    "https://chat.lab.test:99999/x",
    "https:///x",
    "https:chat.lab.test/x",
    "//chat.lab.test/x",
    "ftp://chat.lab.test/x",
    "file:///etc/passwd",
    "https://127.0.0.1/x",
    "https://[::1]/x",
    "https://chat.läb.test/x",
)


def test_only_hosts_of_the_list_are_receivers():
    for url in ALLOWED:
        given().when(registering(url=url)).decided()
    for url in FORBIDDEN:
        given().when(registering(url=url)).refused(InvalidSubscriptionUrlError)


def test_the_host_is_shown_with_its_port_where_that_is_unusual():
    outcome = given().when(registering(url="https://a.hooks.test:8443/secret")).decided()
    assert outcome[0] == replace(registered, host="a.hooks.test:8443")


def test_a_deployment_without_a_key_has_no_subscriptions():
    no_keeper = replace(READERS, secrets=None)
    keyless = Scenario(OPERATIONS, (), HERE, no_keeper)
    keyless.when(registering()).refused(SubscriptionCannotRegisterError, "SUBSCRIPTION_KEY_FILE")
    held = Scenario(OPERATIONS, (registered, *BESIDE), HERE, no_keeper)
    held.when(ROTATE).refused(SubscriptionCannotRotateSecretError, "SUBSCRIPTION_KEY_FILE")


def others(count: int, owner_id: UUID) -> list[SideWrite]:
    return [
        BOOKMARKS.insert(SubscriptionPlace(UUID(int=1000 + n), owner_id, "")) for n in range(count)
    ]


def test_an_owner_and_a_deployment_have_a_limited_number():
    given(*others(MOST_OWN - 1, ME)).when(registering()).decided()
    given(*others(MOST_OWN, OTHER)).when(registering()).decided()
    given(*others(MOST_OWN, ME)).when(registering()).refused(SubscriptionCannotRegisterError, "20")
    given(*others(MOST, OTHER)).when(registering()).refused(SubscriptionCannotRegisterError, "200")


def test_a_pause_ends_the_work_and_tells_who_paused():
    scenario = given(registered, *BESIDE)
    scenario.when(PAUSE, call=AFTER).then(replace(paused, occurred_at=LATER), ENDED)
    service = replace(AFTER, principal_id=SYSTEM, principal_kind=ActorKind.SERVICE_ACCOUNT)
    auto = replace(paused, occurred_at=LATER, trigger=TriggerSource.AUTO)
    scenario.when(PAUSE, call=service).then(auto, ENDED)
    given(registered, paused).when(PAUSE).refused(SubscriptionCannotPauseError)


def test_a_subscription_continues_where_it_stopped_with_the_event_that_failed():
    event = SubscriptionResumed(LATER, ID, ResumeFrom.WHERE_IT_STOPPED)
    again = DELIVERIES.replace(replace(sending, **ANEW))
    scenario = given(registered, paused, *BESIDE, DELIVERIES.insert(sending))
    scenario.when(ON, call=AFTER).then(event, again, OFFERED)


def test_a_subscription_continues_from_now_and_leaves_the_event_that_failed():
    behind = BOOKMARKS.insert(replace(place, cursor="behind"))
    skipped = DELIVERIES.replace(replace(sending, **SETTLED))
    scenario = given(registered, paused, behind, DELIVERIES.insert(sending))
    event = replace(resumed, occurred_at=LATER)
    scenario.when(ON_FROM_NOW, call=AFTER).then(event, BOOKMARKS.replace(place), skipped, OFFERED)
    given(registered, *BESIDE).when(ON).refused(SubscriptionCannotResumeError)


def test_a_rotation_keeps_the_secret_before():
    readers = replace(READERS, secrets=Keeper(SECOND))
    scenario = Scenario(OPERATIONS, (registered, *BESIDE), HERE, readers)
    both = replace(secrets, secret="1:whsec_2", previous="1:whsec_1", rotated_at=LATER)
    event = SubscriptionSecretRotated(LATER, ID, SECOND.secret_id)
    scenario.when(ROTATE, call=AFTER).then(event, SECRETS.replace(both), ShownSecret("whsec_2"))
    assert evolve(begin(registered), event).secret_id == SECOND.secret_id
    given(registered, retired).when(ROTATE).refused(SubscriptionCannotRotateSecretError)


def test_retiring_deletes_secret_and_bookmark_and_ends_what_is_under_way():
    scenario = given(registered, *BESIDE, DELIVERIES.insert(sending))
    scenario.when(RETIRE, call=AFTER).then(
        replace(retired, occurred_at=LATER),
        DELIVERIES.replace(replace(sending, **SETTLED)),
        SECRETS.delete(ID),
        BOOKMARKS.delete(ID),
        CLAIMS.delete(SLOTS, claim_key(0)),
        ENDED,
    )
    given(registered, retired).when(RETIRE).refused(SubscriptionCannotRetireError)


def test_a_dead_letter_is_sent_again_or_skipped():
    scenario = given(registered, *BESIDE, DELIVERIES.insert(refused))
    again = DELIVERIES.replace(replace(refused, **ANEW))
    scenario.when(RETRY, call=AFTER).then(DeliveryRetried(LATER, ID, EVENT), again)
    settled = DELIVERIES.replace(replace(refused, **SETTLED))
    event = DeliverySkipped(LATER, ID, EVENT, reason="moot")
    scenario.when(SKIP, call=AFTER).then(event, settled)
    assert evolve(begin(registered), event) == begin(registered)


def test_only_a_dead_letter_is_settled():
    for status in DeliveryStatus:
        scenario = given(registered, *BESIDE, DELIVERIES.insert(replace(refused, status=status)))
        if status is not REFUSED:
            scenario.when(RETRY).refused(DeliveryCannotRetryError, str(status))
            scenario.when(SKIP).refused(DeliveryCannotSkipError, str(status))
    given(registered, *BESIDE).when(RETRY).refused(DeliveryNotFoundError)
    given(registered, *BESIDE).when(SKIP).refused(DeliveryNotFoundError)
    ended = given(registered, retired, DELIVERIES.insert(refused))
    ended.when(RETRY).refused(DeliveryCannotRetryError, "Retired")
    ended.when(SKIP).decided()


def a_subscription(status: SubscriptionStatus) -> Subscription:
    history = {"Active": (), "Paused": (paused,), "Retired": (retired,)}[status]
    state = begin(registered)
    for event in history:
        state = evolve(state, event)
    return state


EXAMPLES = (
    Example(PAUSE),
    Example(ON, Continuation(())),
    Example(ROTATE, Rotation(Keeper(), SECOND, secrets)),
    Example(RETIRE, Continuation(())),
    Example(RETRY, refused),
    Example(SKIP, refused),
)
EXPECTED = """
          pause_subscription resume_subscription rotate_subscription_secret retire_subscription retry_delivery skip_delivery
Active    Paused             -                   Active                     Retired             Active         Active
Paused    -                  Active              Paused                     Retired             Paused         Paused
Retired   -                  -                   -                          -                   -              Retired
"""  # noqa: E501


def test_every_command_from_every_status():
    matrix(
        OPERATIONS,
        SubscriptionStatus,
        EXAMPLES,
        build_state=a_subscription,
        read_axis=lambda subscription: subscription.status,
        expected=EXPECTED,
    )


def test_why_a_subscription_stopped_is_shown_until_it_continues():
    state = evolve(begin(registered), paused)
    assert (state.status_reason, state.status_trigger) == ("noisy", TriggerSource.OPERATOR)
    state = evolve(state, resumed)
    assert (state.status_reason, state.status_trigger) == (None, None)
    assert evolve(state, retired).status_reason == "closed"


def test_the_filters_are_those_of_the_log():
    assert begin(registered).filters == ListEvents(
        type=frozenset({"RunHeld", "RunAborted"}), stream_id=frozenset({RUN})
    )
    there = begin(replace(registered, facility_code="north"))
    assert there.filters.facility_code == "north"
