"""Webhooks: which addresses are never called, how a message is signed, and what is read."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from standardwebhooks import Webhook, WebhookVerificationError
from tests.support.certificates import certificate
from tests.support.receiving import Got, LocalReceiver, answer

from beamkeep.contexts.seams.receivers import ReceiverHosts
from beamkeep.kernel import replace
from beamkeep.parts.subscriptions import webhooks
from beamkeep.parts.subscriptions.deliveries import UnreachableError, WebhookMessage
from beamkeep.parts.subscriptions.sealing import AesSecretKeeper
from beamkeep.parts.subscriptions.webhooks import HttpWebhooks, is_forbidden, resolve
from beamkeep.testing.waiting import until

pytestmark = pytest.mark.anyio

NAME = "hooks.lab.test"
NOW = datetime.now(UTC)
SECRETS = tuple(AesSecretKeeper(b"s" * 32).new().text for _ in range(2))
MESSAGE = WebhookMessage(
    id=UUID(int=7),
    sent_at=NOW,
    content_type="application/json",
    body=b'{"text":"held"}',
    secrets=SECRETS,
)
ADDRESSES = """
127.0.0.1 127.0.0.2 127.255.255.254 0.0.0.0 0.0.0.1 0.255.255.255
169.254.169.254 169.254.0.1 169.254.255.255 224.0.0.1 239.255.255.250
::1 :: fe80::1 fe80::1%lo febf::1 ff02::1 ff0e::1
::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:169.254.169.254 ::ffff:0.0.0.0 ::ffff:224.0.0.1
::127.0.0.1 ::169.254.169.254 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
2002:7f00:1:: 2002:a9fe:a9fe::1 64:ff9b:1::7f00:1 fd00::5efe:7f00:1 2001:0:7f00:1::
240.0.0.1 255.255.255.255 192.0.0.8 192.0.2.1 198.18.0.1 198.51.100.7 203.0.113.9 192.88.99.1
100.100.100.200 168.63.129.16 fd00:ec2::254 fec0::1 100::1 2001:db8::1 3fff::1 5f00::1
::ffff:255.255.255.255
"""
FORBIDDEN = ADDRESSES.split()
ALLOWED = ("10.0.0.1", "192.168.1.9", "8.8.8.8", "fd00::1", "2a00:1450::1", "::ffff:10.0.0.1")
LITERAL = (
    *("127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1"),
    *("017700000001", "0", "0x0", "localhost", "[::1]", "[::]", "[::ffff:127.0.0.1]"),
    *("[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]"),
)
"""Hosts that the deployment itself allows by mistake, without naming them as plain."""
DISGUISED = (
    "https://{listener}#@hooks.lab.test/",
    "https://hooks.lab.test@{listener}/",
    "https://hooks.lab.test:443@{listener}/",
    "https://hooks.lab.test%40{listener}/",
    "https://{listener}\\@hooks.lab.test/",
    "https://hooks.lab.test\\@{listener}/",
    "https://hooks.lab.test#@{listener}/",
    "https://{listener}/hooks.lab.test",
    "https://{listener}?hooks.lab.test",
    "https://{listener};hooks.lab.test/",
    "https://hooks.lab.test\r\nHost: {listener}/",
    "https://hooks.lab.test,{listener}/",
    "http://{listener}/",
    "//{listener}/",
    "https:{listener}/",
)


@pytest.fixture
async def receiver() -> AsyncGenerator[LocalReceiver]:
    made = LocalReceiver()
    await made.serve()
    yield made
    await made.close()


class Answers:
    """A name server that gives its answers in turn, the last one again and again."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers, self.asked = list(answers), 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def sending(receiver: LocalReceiver, names: Answers | None = None, plain: bool = False):
    allowed = tuple(f"{host}:{receiver.port}" for host in (NAME, *LITERAL))
    hosts = ReceiverHosts(allowed, allowed if plain else ())
    return HttpWebhooks(hosts, lambda: NOW, resolve=names or resolve, timeout=2.0)


async def attempt(sender: HttpWebhooks, url: str) -> str:
    """The class of the failure."""
    with pytest.raises(UnreachableError) as error:
        await sender.post(url, MESSAGE)
    return str(error.value)


def test_which_addresses_are_forbidden():
    assert [address for address in FORBIDDEN if not is_forbidden(address)] == []
    assert [address for address in ALLOWED if is_forbidden(address)] == []


async def every_disguise(receiver: LocalReceiver) -> list[str]:
    """Try to reach the listener in every way; return what became of each attempt."""
    url, found = f"https://{NAME}:{receiver.port}/", list[str]()
    for address in FORBIDDEN:
        found.append(await attempt(sending(receiver, Answers([address])), url))
        both = Answers([*ALLOWED[:1], address])
        found.append(await attempt(sending(receiver, both), url))
    for host in LITERAL:
        found.append(await attempt(sending(receiver), f"https://{host}:{receiver.port}/"))
    return found


async def test_no_disguise_of_a_forbidden_address_reaches_it(receiver: LocalReceiver):
    found = await every_disguise(receiver)
    listener = f"127.0.0.1.:{receiver.port}"
    for url in DISGUISED:
        tried = url.format(listener=listener)
        found.append(await attempt(sending(receiver, Answers(["127.0.0.1"])), tried))
    assert len(found) >= 60
    assert set(found) == {"AddressForbidden", "HostNotAllowed"}
    assert receiver.connections == 0


async def test_without_the_check_the_listener_would_be_reached(
    receiver: LocalReceiver, monkeypatch: pytest.MonkeyPatch
):
    def nothing_is_forbidden(address: str) -> bool:
        return False

    monkeypatch.setattr(webhooks, "is_forbidden", nothing_is_forbidden)
    for host in ("127.0.0.1", "127.1", "2130706433"):
        await attempt(sending(receiver), f"https://{host}:{receiver.port}/")
    assert receiver.connections == 3
    # The handshakes that the listener left unanswered leave no connection behind.
    await until(lambda: not receiver.is_busy)


async def test_a_second_answer_of_the_name_server_changes_nothing(receiver: LocalReceiver):
    names = Answers(["fd00::1"], ["127.0.0.1"])
    found = await attempt(sending(receiver, names), f"https://{NAME}:{receiver.port}/")
    assert found in {"Timeout", "ConnectionFailed"}
    assert (names.asked, receiver.connections) == (1, 0)


async def test_every_attempt_resolves_the_address_again(receiver: LocalReceiver):
    names = Answers(["127.0.0.1"])
    sender = sending(receiver, names, plain=True)
    for _ in range(3):
        await sender.post(f"http://{NAME}:{receiver.port}/", MESSAGE)
    assert (names.asked, receiver.connections) == (3, 3)


async def test_neither_a_redirect_nor_a_proxy_of_the_environment_is_followed(
    receiver: LocalReceiver, monkeypatch: pytest.MonkeyPatch
):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    receiver.answers("/a", 308, location=f"http://127.0.0.1:{receiver.port}/b")
    sender = sending(receiver, Answers(["127.0.0.1"]), plain=True)
    answered = await sender.post(f"http://{NAME}:{receiver.port}/a", MESSAGE)
    assert answered.status == 308
    assert [got.path for got in receiver.got] == ["/a"]


async def test_a_message_is_what_the_published_library_verifies(receiver: LocalReceiver):
    sender = sending(receiver, Answers(["127.0.0.1"]), plain=True)
    # The library refuses what is older than five minutes.
    sent = replace(MESSAGE, sent_at=datetime.now(UTC))
    await sender.post(f"http://{NAME}:{receiver.port}/a?room=4", sent)
    (got,) = receiver.got
    for secret in SECRETS:
        assert Webhook(secret).verify(got.body, got.headers) == {"text": "held"}
    other = Webhook(AesSecretKeeper(b"s" * 32).new().text)
    with pytest.raises(WebhookVerificationError):
        other.verify(got.body, got.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRETS[0]).verify(got.body, {**got.headers, "webhook-id": "8"})
    assert (got.path, got.headers["host"]) == ("/a?room=4", f"{NAME}:{receiver.port}")
    assert got.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("120", 120.0), ("soon", None), ("", None), ("-5", None), ("9" * 30, 999999999.0)],
)
async def test_a_pause_in_seconds_is_read(
    receiver: LocalReceiver, given: str, seconds: float | None
):
    receiver.answers("/", 429, retry_after=given)
    sender = sending(receiver, Answers(["127.0.0.1"]), plain=True)
    answered = await sender.post(f"http://{NAME}:{receiver.port}/", MESSAGE)
    assert (answered.status, answered.retry_after, answered.text) == (429, seconds, "why")


async def test_a_pause_until_a_date_is_read(receiver: LocalReceiver):
    later = (NOW + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    receiver.answers("/", 503, retry_after=later)
    sender = sending(receiver, Answers(["127.0.0.1"]), plain=True)
    answered = await sender.post(f"http://{NAME}:{receiver.port}/", MESSAGE)
    assert answered.retry_after is not None
    assert 88 < answered.retry_after <= 90


async def test_of_a_long_answer_little_is_read_and_less_is_shown(receiver: LocalReceiver):
    async def long(got: Got) -> bytes:
        # More is announced than comes: only a reader that stops early gets an answer.
        return b"HTTP/1.1 400 X\r\ncontent-length: 99999999\r\n\r\n\0" + b"x" * 200_000

    receiver.behaviours["/"] = long
    sender = sending(receiver, Answers(["127.0.0.1"]), plain=True)
    answered = await sender.post(f"http://{NAME}:{receiver.port}/", MESSAGE)
    assert answered.text == "x" * 500


async def test_a_receiver_that_does_not_answer_is_given_up(receiver: LocalReceiver):
    gate = asyncio.Event()

    async def silent(got: Got) -> bytes:
        await gate.wait()
        return answer(204)

    receiver.behaviours["/"] = silent
    hosts = ReceiverHosts(*[(f"{NAME}:{receiver.port}",)] * 2)
    sender = HttpWebhooks(hosts, lambda: NOW, resolve=Answers(["127.0.0.1"]), timeout=0.05)
    assert await attempt(sender, f"http://{NAME}:{receiver.port}/") == "Timeout"
    gate.set()


async def test_an_unknown_host_name_is_reported(receiver: LocalReceiver):
    assert await attempt(sending(receiver), f"https://{NAME}:{receiver.port}/") == "NameNotResolved"


@pytest.mark.parametrize("name", [NAME, "other.lab.test"])
async def test_the_certificate_must_be_that_of_the_name(name: str, tmp_path: Path):
    asked, served = list[str | None](), LocalReceiver()
    context = certificate(name, tmp_path)
    context.sni_callback = lambda _, sni, __: asked.append(sni)
    await served.serve(context=context)
    hosts = ReceiverHosts(*[(f"{NAME}:{served.port}",)] * 2)
    trusting = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    sender = HttpWebhooks(hosts, lambda: NOW, resolve=Answers(["127.0.0.1"]), context=trusting)
    url = f"https://{NAME}:{served.port}/a"
    if name == NAME:
        assert (await sender.post(url, MESSAGE)).status == 204
    else:
        assert await attempt(sender, url) == "ConnectionFailed"
    await served.close()
    assert asked == [NAME]
    assert [got.headers["host"] for got in served.got] == [f"{NAME}:{served.port}"] * len(
        served.got
    )
    assert len(served.got) == (name == NAME)
