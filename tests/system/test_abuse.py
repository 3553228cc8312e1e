"""Hostile requests on a real socket: each gets its own refusal, and the service goes on."""

import asyncio
import gzip
import json
import select
import socket
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2
import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.testing import capture_logs
from tests.faults import conftest as faults
from tests.faults.conftest import Report
from tests.faults.fuzzing import changed
from tests.faults.report import rounds
from tests.support.listening import listening
from tests.support.verdicts import time_counts
from tests.system.abusing import CUT, Abuser, Case, failures, get, hits, post
from tests.system.calling import As, permit, registered

from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.zone import DefineZone
from beamkeep.kernel import SurfaceKind
from beamkeep.runtime.parsing import MalformedRequestError, parse
from beamkeep.surfaces.http.limits import Limits
from beamkeep.surfaces.http.messages import combined
from beamkeep.testing.calling import Rest
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.server import LocalDeployment, Server, deployment, serving
from beamkeep.testing.service import memory_service
from beamkeep.testing.waiting import until
from beamkeep.testing.web import rest_application

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

report = faults.report

CANARY = f"canary{uuid4().hex}"
C = CANARY.encode()
SECRETS = {
    name: f"{name}-{uuid4().hex}"
    for name in ("database-password", "projector-password", "client-secret", "stdio-token")
}
HURRIED_SECONDS = 2
EVERY = 0.25
"""Seconds after which a slow caller says something again."""
PATIENCE = 30.0
"""How much longer than it should a machine that stalls may take."""
LARGEST_REFUSAL = 64 * 1024

MALFORMED = "422 MalformedRequestError"
NO_ROUTE = "404 RouteNotFoundError"
MEDIA_TYPE = "415 UnsupportedMediaTypeError"
CREDENTIALS = "400 MalformedCredentialsError"
NO_TOKEN = "401 InvalidTokenError"
MISDIRECTED = "421 MisdirectedRequestError"
NOT_ALLOWED = "405 MethodNotAllowedError"
PRECONDITION = "412 PreconditionFailedError"
HEADERS_TOO_LARGE = "431 HeadersTooLargeError"
TOO_LARGE = "413 BodyTooLargeError | cut"
MISMATCH = "400 -32020"
NO_MESSAGE = "400 -32600"
PARAMS = "400 -32602"
NO_JSON = "400 -32700"
PARAMS_BEFORE = "200 -32602"
INCOMPLETE = "408 BodyIncompleteError"
SURFACE = "400 InvalidSurfaceIdError"
NAMED = b'{"name":"Hutch"}'
NOWHERE = b"00000000-0000-7000-8000-00000000dead"

# Bodies of a command.
BODIES = [
    ("65 deep", b'{"name":' + b"[" * 64 + b"]" * 64 + b"}", MALFORMED),
    ("65 deep by names", b'{"a":' * 65 + b"1" + b"}" * 65, MALFORMED),
    ("10,000 brackets", b"[" * 10_000, MALFORMED),
    ("1,000,000 brackets", b"[" * 1_000_000, MALFORMED),
    ("1,000,000 brackets in a name", b'{"name":' + b"[" * 1_000_000, MALFORMED),
    ("200,000 objects", b'{"a":' * 200_000, MALFORMED),
    ("balanced, 100,000 deep", b"[" * 100_000 + b"]" * 100_000, MALFORMED),
    ("lone surrogate", b'{"name":"\\ud800"}', MALFORMED),
    ("lone low surrogate", b'{"name":"\\udfff%b"}' % C, MALFORMED),
    ("surrogates the wrong way round", b'{"name":"\\udc00\\ud800"}', MALFORMED),
    ("surrogate in a name", b'{"\\ud800":1}', MALFORMED),
    ("surrogate in UTF-8", b'{"name":"\xed\xa0\x80"}', MALFORMED),
    ("null character", b'{"name":"%b\\u0000"}' % C, MALFORMED),
    ("null character in a name", b'{"\\u0000":1}', MALFORMED),
    ("null byte", b'{"name":"\x00"}', MALFORMED),
    ("null byte after the end", NAMED + b"\x00", MALFORMED),
    ("control character", b'{"name":"\x1b[31m"}', MALFORMED),
    ("2^53 + 1", b'{"name":9007199254740993}', MALFORMED),
    ("-2^53 - 1", b'{"name":-9007199254740993}', MALFORMED),
    ("2^64", b'{"name":18446744073709551616}', MALFORMED),
    ("400 digits", b'{"name":' + b"9" * 400 + b"}", MALFORMED),
    ("400 digits and a fraction", b'{"name":' + b"9" * 400 + b".5}", MALFORMED),
    ("5,000 digits", b'{"name":' + b"9" * 5_000 + b"}", MALFORMED),
    ("1,000,000 digits", b'{"name":' + b"9" * 1_000_000 + b"}", MALFORMED),
    ("1e999", b'{"name":1e999}', MALFORMED),
    ("an exponent without end", b'{"name":1e' + b"9" * 10_000 + b"}", MALFORMED),
    ("a fraction without end", b'{"name":0.' + b"0" * 100_000 + b"1}", MALFORMED),
    ("NaN", b'{"name":NaN}', MALFORMED),
    ("Infinity", b'{"name":Infinity}', MALFORMED),
    ("-Infinity", b'{"name":-Infinity}', MALFORMED),
    ("leading zero", b'{"name":01}', MALFORMED),
    ("byte order mark", b"\xef\xbb\xbf" + NAMED, MALFORMED),
    ("UTF-16", NAMED.decode().encode("utf-16"), MALFORMED),
    ("UTF-32", NAMED.decode().encode("utf-32"), MALFORMED),
    ("invalid UTF-8", b'{"name":"\xff"}', MALFORMED),
    ("overlong UTF-8", b'{"name":"\xc0\xaf"}', MALFORMED),
    ("cut within a character", b'{"name":"\xc3', MALFORMED),
    ("nothing", b"", MALFORMED),
    ("blanks", b" " * 1_000_000, MALFORMED),
    ("a list", b"[]", MALFORMED),
    ("a text", b'"%b"' % C, MALFORMED),
    ("a number", b"1", MALFORMED),
    ("null", b"null", MALFORMED),
    ("two objects", NAMED * 2, MALFORMED),
    ("cut off", NAMED[:-1], MALFORMED),
    ("single quotes", b"{'name':'Hutch'}", MALFORMED),
    ("a comment", b'{"name":"Hutch"/**/}', MALFORMED),
    ("trailing comma", b'{"name":"Hutch",}', MALFORMED),
    ("no JSON", b"<name>%b</name>" % C, MALFORMED),
    ("50,001 numbers", b'{"name":[' + b"0," * 50_000 + b"0]}", MALFORMED),
    ("500,000 numbers", b'{"name":[' + b"0," * 499_999 + b"0]}", MALFORMED),
    ("90,000 names", b"{%b}" % b",".join(b'"%x":0' % n for n in range(90_000)), MALFORMED),
    ("20,000 names", b"{%b}" % b",".join(b'"%x":0' % n for n in range(20_000)), MALFORMED),
    ("a name of 1,000,000", b'{"%b":0}' % (b"a" * 1_000_000), MALFORMED),
    ("a value of 1,000,000", b'{"name":"%b"}' % (b"a" * 1_000_000), MALFORMED),
    ("what the path would say", b'{"name":"Hutch","zone_id":"%b"}' % NOWHERE, MALFORMED),
    ("what the service sets", b'{"name":"Hutch","owner_id":"%b"}' % NOWHERE, MALFORMED),
    ("__proto__", b'{"name":"Hutch","__proto__":{"a":1}}', MALFORMED),
    ("a name twice", b'{"name":"Shed","name":"Hutch"}', MALFORMED),
    ("a name twice, once escaped", b'{"name":"Shed","nam\\u0065":"Hutch"}', MALFORMED),
    ("a name twice further in", b'{"name":{"a":[{"b":1,"b":2}]}}', MALFORMED),
    ("bidi and zero width", '{"name":"\u202e\u200b\ufeff\U0001f4a5"}'.encode(), "201"),
]

# Ends of the address of a list.
QUERIES = [
    ("cursor: not base64", b"?cursor=%b" % C, MALFORMED),
    ("cursor: base64 of nothing we wrote", b"?cursor=AAAAAAAAAAAAAAAAAAAAAA==", MALFORMED),
    ("cursor: padding alone", b"?cursor=====", MALFORMED),
    ("cursor: one letter", b"?cursor=A", MALFORMED),
    ("cursor: empty", b"?cursor=", MALFORMED),
    ("cursor: null character", b"?cursor=%00", MALFORMED),
    ("cursor: null characters among letters", b"?cursor=AAAA%00AAAA", MALFORMED),
    ("cursor: 501", b"?cursor=" + b"A" * 501, MALFORMED),
    ("cursor: 3,000", b"?cursor=" + b"A" * 3_000, MALFORMED),
    ("cursor: emoji", b"?cursor=%F0%9F%92%A5", MALFORMED),
    ("cursor: surrogate", b"?cursor=%ED%A0%80", MALFORMED),
    ("cursor: not UTF-8", b"?cursor=%ff", MALFORMED),
    ("cursor: SQL", b"?cursor='%20OR%201=1--", MALFORMED),
    ("cursor: twice", b"?cursor=A&cursor=B", MALFORMED),
    ("limit: none", b"?limit=", MALFORMED),
    ("limit: 0", b"?limit=0", MALFORMED),
    ("limit: -1", b"?limit=-1", MALFORMED),
    ("limit: 101", b"?limit=101", MALFORMED),
    ("limit: 400 digits", b"?limit=" + b"9" * 400, MALFORMED),
    ("limit: a float", b"?limit=1e1", MALFORMED),
    ("limit: hexadecimal", b"?limit=0x1", MALFORMED),
    ("limit: Arabic digits", b"?limit=%D9%A1", MALFORMED),
    ("limit: NaN", b"?limit=NaN", MALFORMED),
    ("limit: a list", b"?limit[]=1", MALFORMED),
    ("limit: semicolons", b"?limit=1;limit=2", MALFORMED),
    ("limit: twice", b"?limit=1&limit=1", MALFORMED),
    ("min_token: no dash", b"?min_token=1", MALFORMED),
    ("min_token: negative", b"?min_token=-1-1", MALFORMED),
    ("min_token: 19 digits", b"?min_token=9999999999999999999-1", MALFORMED),
    ("min_token: 400 digits", b"?min_token=" + b"9" * 400, MALFORMED),
    ("min_token: Arabic digits", b"?min_token=%D9%A1-%D9%A1", MALFORMED),
    ("min_token: another line", b"?min_token=1-1%0a", MALFORMED),
    ("an unknown name", b"?colour=%b" % C, MALFORMED),
    ("a name that is a percent sign", b"?%", MALFORMED),
    ("broken escapes", b"?limit=%zz", MALFORMED),
    ("markup", b"?%3Cscript%3E=1", MALFORMED),
    ("over 4 KiB", b"?colour=" + b"a" * 4_100, "414 UrlTooLongError"),
    ("many names", b"?" + b"a&" * 1_500, MALFORMED),
    ("ampersands", b"?" + b"&" * 3_000, "200"),
    ("another's token in the query", b"?access_token=<ada>", MALFORMED),
]

# Addresses.
PATHS = [
    ("nothing there", b"/%b" % C, NO_ROUTE),
    ("over 4 KiB", b"/" + b"a" * 4_100, NO_ROUTE),
    ("over 4 KiB where something is", b"/zones/" + b"a" * 4_100, "414 UrlTooLongError"),
    ("4,000 segments", b"/a" * 4_000, NO_ROUTE),
    ("two slashes", b"//zones", NO_ROUTE),
    ("another host after two slashes", b"//evil.test/zones", NO_ROUTE),
    ("dots", b"/zones/..", MALFORMED),
    ("dots to elsewhere", b"/zones/../actors", NO_ROUTE),
    ("escaped dots to elsewhere", b"/zones/%2e%2e/actors", NO_ROUTE),
    ("twice escaped", b"/zones/%252e%252e", MALFORMED),
    ("escaped slash", b"/zones%2f", NO_ROUTE),
    ("escaped slash within", b"/zones/%2e%2e%2factors", MALFORMED),
    ("backslash", b"/zones\\..\\actors", NO_ROUTE),
    ("escaped letter", b"/%7aones", NO_ROUTE),
    ("null character", b"/zones%00", NO_ROUTE),
    ("null character as an id", b"/zones/%00", MALFORMED),
    ("no UTF-8 as an id", b"/zones/%ff%fe", MALFORMED),
    ("overlong slash as an id", b"/zones/%c0%af", MALFORMED),
    ("broken escape as an id", b"/zones/%zz", MALFORMED),
    ("a percent sign as an id", b"/zones/%", MALFORMED),
    ("another line as an id", b"/zones/%0d%0aX-Odd:%201", MALFORMED),
    ("text as an id", b"/zones/%b" % C, MALFORMED),
    ("nothing as an id", b"/zones/", NO_ROUTE),
    ("matrix parameters", b"/zones;a=b", NO_ROUTE),
    ("capitals", b"/ZONES", NO_ROUTE),
    ("capitals of a page", b"/HEALTH", NO_ROUTE),
    ("escaped page", b"/%68ealth", NO_ROUTE),
    ("escaped metrics", b"/%6detrics", NO_ROUTE),
    ("escaped MCP", b"/%6dcp", NO_ROUTE),
    ("MCP with a slash", b"/mcp/", NO_ROUTE),
    ("environment", b"/.env", NO_ROUTE),
    ("repository", b"/.git/config", NO_ROUTE),
    ("the host's files", b"/docs/../../../etc/passwd", NO_ROUTE),
    ("star", b"*", NO_ROUTE),
    ("another host", b"http://%b.test/nowhere" % C, NO_ROUTE),
    ("another host, our path", b"http://evil.test/zones?limit=0", MALFORMED),
    ("another scheme", b"file://evil.test/etc/passwd", NO_ROUTE),
    ("a fragment", b"/zones?limit=0#fragment", MALFORMED),
]

# Methods that neither a list nor a page nor MCP has, and what is no method.
METHODS = [
    *((name, NOT_ALLOWED) for name in (b"OPTIONS", b"TRACE", b"CONNECT", b"PUT", b"PATCH")),
    *((name, NOT_ALLOWED) for name in (b"DELETE", b"PROPFIND", b"QUERY")),
    *((name, "400") for name in (b"BREW", b"get", b"G\x00T", b"X" * 5_000)),
]
HEADS = [(b"/zones", "405"), (b"/health", "200"), (b"/mcp", "405")]

# Lines added to the head of a good request for a list.
WEB_SOCKET = (b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Version: 13")
HEADERS = [
    ("17 KiB", (b"X-Odd: " + b"a" * 17_000,), HEADERS_TOO_LARGE),
    ("17 KiB in two", (b"X-Odd: " + b"a" * 9_000, b"X-Even: " + b"a" * 9_000), HEADERS_TOO_LARGE),
    ("200 KiB", (b"X-Odd: " + b"a" * 200_000,), "431 | 431 HeadersTooLargeError | cut"),
    ("4 MiB", (b"X-Odd: " + b"a" * 4_000_000,), "431 | cut"),
    ("4 MiB of lines", tuple(b"X-%d: a" % n for n in range(400_000)), "431 | cut"),
    ("2,000 lines", tuple(b"X-%d: a" % n for n in range(2_000)), "200"),
    ("2,000 times one line", (b"X-Odd: a",) * 2_000, "200"),
    ("3,000 lines, one twice", (*(b"%x:" % n for n in range(3_000)), b"0: b"), "200"),
    ("a second token", (b"Authorization: Bearer <ada>",), CREDENTIALS),
    ("a second scheme", (b"Authorization: Basic eDp5",), CREDENTIALS),
    ("an empty second", (b"Authorization: ",), CREDENTIALS),
    ("two surfaces", (b"X-Surface-Id: a", b"X-Surface-Id: b"), SURFACE),
    ("a surface of nobody", (b"X-Surface-Id: %b" % C,), SURFACE),
    ("a surface beyond ASCII", (b"X-Surface-Id: \xff",), SURFACE),
    ("a surface of 10,000", (b"X-Surface-Id: " + b"0" * 10_000,), SURFACE),
    ("a correlation id that is none", (b"X-Correlation-Id: %b" % C,), "200"),
    ("a correlation id beyond ASCII", (b"X-Correlation-Id: " + b"\xff" * 32,), "200"),
    ("two correlation ids", (b"X-Correlation-Id: a", b"X-Correlation-Id: b"), "200"),
    ("beyond ASCII", (b"X-Odd: \xff\xfe",), "200"),
    ("another method", (b"X-HTTP-Method-Override: DELETE",), "200"),
    ("another address", (b"X-Original-URL: /actors", b"X-Rewrite-URL: /actors"), "200"),
    ("from elsewhere", (b"X-Forwarded-For: %b" % C, b"Forwarded: for=%b" % C), "200"),
    ("another scheme", (b"X-Forwarded-Proto: javascript",), "200"),
    ("a range", (b"Range: bytes=0-0,1-1,2-2",), "200"),
    ("conditions", (b"If-None-Match: *", b"If-Modified-Since: %b" % C), "200"),
    ("an upgrade to h2c", (b"Connection: Upgrade", b"Upgrade: h2c"), "200"),
    ("a web socket", (*WEB_SOCKET, b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="), "200"),
    ("half a web socket", WEB_SOCKET[:2], "200"),
    ("a body with a GET", (b"Content-Length: 0",), "200"),
    ("a control character", (b"X-Odd: a\x01b",), "400"),
    ("a null byte", (b"X-Odd: a\x00b",), "400"),
    ("a null byte in a name", (b"X\x00Odd: a",), "400"),
    ("a bare line feed", (b"X-Odd: a\nX-Even: b",), "400"),
    ("a bare carriage return", (b"X-Odd: a\rX-Even: b",), "400"),
    ("a folded line", (b"X-Odd: a\r\n b",), "400"),
    ("a blank before the colon", (b"X-Odd : a",), "400"),
    ("no colon", (b"X-Odd",), "400"),
    ("no name", (b": a",), "400"),
    ("a name beyond ASCII", (b"X-\xc3\xa9: a",), "400"),
]

# Lines added to the head of a command, and what came before the head's end.
COMMANDS = [
    ("two keys", (b"Idempotency-Key: a", b"Idempotency-Key: b"), MALFORMED),
    ("one key twice", (b"Idempotency-Key: a", b"Idempotency-Key: a"), MALFORMED),
    ("an empty key", (b"Idempotency-Key: ",), MALFORMED),
    ("a key of 256", (b"Idempotency-Key: " + b"a" * 256,), MALFORMED),
    ("a key of 10,000", (b"Idempotency-Key: " + b"a" * 10_000,), MALFORMED),
    ("a key with blanks", (b"Idempotency-Key: a %b" % C,), MALFORMED),
    ("a key beyond ASCII", (b"Idempotency-Key: \xe9",), MALFORMED),
    ("a weak version", (b'If-Match: W/"1"',), PRECONDITION),
    ("a version in half quotes", (b'If-Match: "1',), PRECONDITION),
    ("an empty version", (b"If-Match: ",), PRECONDITION),
    ("a negative version", (b"If-Match: -1",), PRECONDITION),
    ("a version of 400 digits", (b"If-Match: " + b"9" * 400,), PRECONDITION),
    ("a version that is text", (b"If-Match: %b" % C,), PRECONDITION),
    ("a version beyond ASCII", (b'If-Match: "\xff"',), PRECONDITION),
    ("two versions", (b'If-Match: "1"', b'If-Match: "2"'), PRECONDITION),
    ("a list of versions", (b'If-Match: "1", "2"',), PRECONDITION),
    ("two media types", (b"Content-Type: text/plain",), MEDIA_TYPE),
    ("compressed", (b"Content-Encoding: gzip",), MEDIA_TYPE),
    ("compressed twice", (b"Content-Encoding: identity, br",), MEDIA_TYPE),
    ("an odd expectation", (b"Expect: 200-maybe",), "204"),
    ("two lengths", (b"Content-Length: 3",), "400"),
    ("the same length twice", (b"Content-Length: 13",), "400"),
    ("chunks and a length", (b"Transfer-Encoding: chunked",), "400"),
    ("chunks spelt oddly and a length", (b"Transfer-Encoding: xchunked",), "400"),
    ("chunks behind a tab and a length", (b"Transfer-Encoding:\tchunked",), "400"),
]

JSON = b"Content-Type: application/json"
CHUNKED = get(b"/zones", JSON, b"Transfer-Encoding: chunked", method=b"POST")
BOMB = gzip.compress(b" " * 50_000_000)
LAST_CHUNK = b"0\r\n\r\n"
MIB = b"10000\r\n" + b" " * 65_536 + b"\r\n"


def bearing(token: bytes) -> bytes:
    """A request for a list with another token."""
    return get(b"/zones").replace(b"<ada>", token)


def announced(length: bytes, body: bytes) -> bytes:
    """A command whose body is said to have another length than it has."""
    return get(b"/zones", JSON, b"Content-Length: " + length, method=b"POST") + body


def chunk(size: bytes) -> bytes:
    """A chunk of 16 bytes that is said to have this size."""
    return size + b"\r\n" + NAMED + b"\r\n"


# Whole requests.
WHOLE = [
    ("a charset that it has not", post(NAMED).replace(b"json", b"json; charset=utf-16"), "201"),
    (
        "a charset that it has",
        post(NAMED.decode().encode("utf-16")).replace(b"json\r", b"json; charset=utf-16\r"),
        MALFORMED,
    ),
    ("Latin-1", post(b'{"name":"\xe9"}').replace(b"json\r", b"json; charset=latin-1\r"), MALFORMED),
    ("plain text", post(NAMED).replace(b"application/json", b"text/plain"), MEDIA_TYPE),
    ("a form", post(b"name=Hutch").replace(b"json", b"x-www-form-urlencoded"), MEDIA_TYPE),
    ("no media type", post(NAMED).replace(b"Content-Type: application/json\r\n", b""), MEDIA_TYPE),
    ("a merge patch", post(NAMED).replace(b"json", b"merge-patch+json"), MEDIA_TYPE),
    ("a bomb", post(BOMB, b"Content-Encoding: gzip"), MEDIA_TYPE),
    ("a bomb that is not called one", post(BOMB), MALFORMED),
    ("a byte over 1 MiB", post(b" " * (1024 * 1024 + 1)), TOO_LARGE),
    ("8 MiB", post(b" " * (8 * 1024 * 1024)), TOO_LARGE),
    ("a terabyte announced", announced(b"1000000000000", NAMED), "413 BodyTooLargeError"),
    ("2 MiB in chunks", CHUNKED + MIB * 32 + LAST_CHUNK, TOO_LARGE),
    ("chunks of a byte", CHUNKED + b"1\r\n \r\n" * 100_000 + LAST_CHUNK, MALFORMED),
    ("chunks with extensions", CHUNKED + chunk(b"10;" + b"a" * 9_000) + LAST_CHUNK, "201"),
    ("an empty chunked body", CHUNKED + LAST_CHUNK, MALFORMED),
    ("a chunk of no size", CHUNKED + b"zz\r\n\r\n", "400"),
    ("a chunk of a negative size", CHUNKED + b"-1\r\n\r\n", "400"),
    ("a chunk of 0x", CHUNKED + chunk(b"0x10") + LAST_CHUNK, "400"),
    ("a chunk beyond 64 bits", CHUNKED + b"f" * 20 + b"\r\n", "400"),
    ("a chunk longer than it says", CHUNKED + chunk(b"1") + LAST_CHUNK, "400"),
    (
        "a codec before the chunks",
        CHUNKED.replace(b"chunked", b"gzip, chunked") + chunk(b"10") + LAST_CHUNK,
        "201",
    ),
    ("chunks last but one", CHUNKED.replace(b"chunked", b"chunked, gzip") + LAST_CHUNK, "400"),
    ("a negative length", announced(b"-1", NAMED), "400"),
    ("a length with a sign", announced(b"+13", NAMED), "400"),
    ("a length of 30 digits", announced(b"9" * 30, NAMED), "400"),
    ("a hexadecimal length", announced(b"0xd", NAMED), "400"),
    ("a length too short", announced(b"3", NAMED), f"400 | {MALFORMED}"),
    (
        "a credential in the trailer",
        CHUNKED.replace(b"Authorization: Bearer <ada>\r\n", b"")
        + chunk(b"10")
        + b"0\r\nAuthorization: Bearer <ada>\r\n\r\n",
        "401 MissingTokenError",
    ),
    (
        "a surface in the trailer",
        CHUNKED + chunk(b"10") + b"0\r\nX-Surface-Id: nowhere\r\n\r\n",
        "201",
    ),
    ("another request in the body", announced(b"0", get(b"/actors")), MALFORMED),
    ("a request and garbage", get(b"/zones") + b"\x00garbage\r\n\r\n", "200 | 400"),
    ("twenty in one go", get(b"/zones") * 20, "200"),
    ("no token", b"GET /zones HTTP/1.1\r\nHost: <host>\r\n\r\n", "401 MissingTokenError"),
    ("a basic credential", get(b"/zones").replace(b"Bearer <ada>", b"Basic %b" % C), CREDENTIALS),
    ("no more than a scheme", get(b"/zones").replace(b"Bearer <ada>", b"Bearer"), CREDENTIALS),
    ("a token beyond ASCII", bearing(b"\xff"), CREDENTIALS),
    ("a token of 9,000", bearing(b"a.b." + b"c" * 9_000), NO_TOKEN),
    ("a token that was altered", bearing(b"<ada>x"), NO_TOKEN),
    ("a token without a signature", bearing(b"eyJhbGciOiJub25lIn0.e30."), NO_TOKEN),
    ("a token of nobody", bearing(b"<mallory>"), "401 UnregisteredLoginError"),
    ("a token only its issuer can read", bearing(C), "503 IdentityProviderUnavailableError"),
    ("HTTP/1.0", b"GET /zones HTTP/1.0\r\nAuthorization: Bearer <ada>\r\n\r\n", MISDIRECTED),
    ("HTTP/0.9", b"GET /health\r\n\r\n", "200"),
    ("HTTP/9.9", b"GET /health HTTP/9.9\r\n\r\n", "400"),
    ("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"),
    ("a TLS hello", b"\x16\x03\x01\x00\x7a\x01\x00\x00\x76\x03\x03" + b"x" * 100, "400"),
    ("null bytes", b"\x00" * 1_000, "400"),
    ("bare line feeds", b"GET /zones HTTP/1.1\nHost: <host>\n\n", "400"),
    ("no target", b"GET  HTTP/1.1\r\nHost: <host>\r\n\r\n", "400"),
    ("a target without a slash", get(b"zones"), "400"),
    ("a target beyond ASCII", get(b"/\xc3\xa9"), "400"),
    ("a target of 4 MiB", get(b"/" + b"a" * 4_000_000), "400 | 431 | cut"),
    ("a target and more", get(b"/zones HTTP/1.1 x"), "400"),
    ("a scheme alone", get(b"http://"), "400"),
    ("a host to connect to", get(b"evil.test:443", method=b"CONNECT"), "400"),
    ("another host's name", get(b"/zones").replace(b"<host>", b"evil.test"), MISDIRECTED),
    ("no host's name", get(b"/zones").replace(b"Host: <host>\r\n", b""), MISDIRECTED),
    ("a probe by another host's name", get(b"/health").replace(b"<host>", b"evil.test"), "200"),
]

# MCP.
NOW, BEFORE = b"2026-07-28", b"2025-11-25"
CALL = (b"Mcp-Method: tools/call", b"Mcp-Name: define_zone")
LISTING = b"Mcp-Method: tools/list"
TOOL = "200 MalformedRequestError"


def message(params: bytes, method: bytes = b"tools/call", id: bytes = b"1") -> bytes:
    """A message of the revision it is sent in."""
    said = b'"io.modelcontextprotocol/protocolVersion":"<version>"'
    meta = b'"_meta":{%b,"io.modelcontextprotocol/clientCapabilities":{}}' % said
    inner = b",".join(part for part in (params, meta) if part)
    return b'{"jsonrpc":"2.0","id":%b,"method":"%b","params":{%b}}' % (id, method, inner)


def zone(arguments: bytes) -> bytes:
    """A call of a tool with these arguments."""
    return message(b'"name":"define_zone","arguments":' + arguments)


class Message(NamedTuple):
    """A message, and what comes of it in the present revision and in those before."""

    name: str
    head: tuple[bytes, ...]
    body: bytes
    now: str
    before: str


def sent(
    name: str, body: bytes, now: str, before: str = "", head: tuple[bytes, ...] = CALL
) -> Message:
    """A message of which the same comes in every revision, if nothing else is said."""
    return Message(name, head, body, now, before or now)


def invalid_params(name: str, body: bytes, head: tuple[bytes, ...] = CALL) -> Message:
    """A message whose parameters are invalid, which the revisions tell by different statuses."""
    return sent(name, body, PARAMS, PARAMS_BEFORE, head=head)


def of_method(
    method: bytes, name: str, now: str = "404 -32601", before: str = "200 -32601"
) -> Message:
    """A message of another method, with the line that says so."""
    return sent(name, message(b"", method), now, before, head=(b"Mcp-Method: " + method,))


GOOD = zone(NAMED)


def nested(depth: int) -> bytes:
    """A call whose argument is so many lists, one in another."""
    return zone(b'{"name":' + b"[" * depth + b"]" * depth + b"}")


def with_meta(start: bytes) -> bytes:
    """A good call whose metadata begins otherwise."""
    return GOOD.replace(b'"_meta":{', b'"_meta":' + start)


def headed(name: str, now: str, *lines: bytes, before: str = "") -> Message:
    """A good call with further lines in its head."""
    return sent(name, GOOD, now, before, head=(*CALL, *lines))


def mismatched(name: str, *head: bytes) -> Message:
    """A good call whose head contradicts the body, which only the present revision notices."""
    return sent(name, GOOD, MISMATCH, "200", head=head)


def unknown_tool(name: str, tool: bytes) -> Message:
    """A call of a tool that does not exist."""
    body, head = message(b'"name":"%b"' % tool), (CALL[0], b"Mcp-Name: " + tool)
    return sent(name, body, "200 UnknownToolError", head=head)


def identified(name: str, id: bytes, now: str, before: str = "") -> Message:
    """A good call with another id."""
    return sent(name, GOOD.replace(b'"id":1', b'"id":' + id), now, before)


def request(rest: bytes) -> bytes:
    """A message without metadata."""
    return b'{"jsonrpc":"2.0","id":1,%b}' % rest


MESSAGES = [
    sent("a good call", GOOD, "200"),
    mismatched("another method in the head", LISTING, CALL[1]),
    mismatched("another tool in the head", CALL[0], b"Mcp-Name: forget_actor"),
    mismatched("no method in the head", CALL[1]),
    mismatched("no tool in the head", CALL[0]),
    mismatched("two methods in the head", *CALL, CALL[0]),
    mismatched("two tools in the head", *CALL, CALL[1]),
    headed("two revisions", MISMATCH, b"MCP-Protocol-Version: <version>", before="200 | 400"),
    sent(
        "another revision in the body", GOOD.replace(b"<version>", b"2031-01-01"), MISMATCH, "200"
    ),
    sent(
        "no _meta",
        request(b'"method":"tools/call","params":{"name":"define_zone","arguments":{}}'),
        PARAMS,
        TOOL,
    ),
    invalid_params("_meta that is a list", with_meta(b'[],"x":{')),
    sent("a batch", b"[%b]" % GOOD, NO_MESSAGE, PARAMS),
    sent("an empty batch", b"[]", NO_MESSAGE, PARAMS),
    sent("a batch of 2,000", b"[%b]" % b",".join([GOOD] * 2_000), NO_MESSAGE, PARAMS),
    sent("nothing", b"", "400 -32700 | 415 UnsupportedMediaTypeError", NO_JSON),
    sent("null", b"null", NO_MESSAGE, PARAMS),
    # The SDK tells whoever sent it what was no message; it is in no log.
    sent("a text", b'"text"', NO_MESSAGE, PARAMS),
    sent("cut off", GOOD[:-1], NO_JSON),
    # The SDK reads what Python reads; no harm is known of it.
    sent("byte order mark", b"\xef\xbb\xbf" + GOOD, "200", NO_JSON),
    sent("UTF-16", GOOD.replace(b"<version>", NOW).decode().encode("utf-16"), "200", NO_JSON),
    sent("invalid UTF-8", zone(b'{"name":"\xff"}'), NO_JSON),
    sent("JSON-RPC 1.0", GOOD.replace(b'"2.0"', b'"1.0"'), NO_MESSAGE, PARAMS),
    sent("no method", b'{"jsonrpc":"2.0","id":1}', NO_MESSAGE, PARAMS),
    sent("a method that is a number", request(b'"method":5'), NO_MESSAGE, PARAMS),
    sent("a list of params", request(b'"method":"tools/call","params":[1]'), NO_MESSAGE, PARAMS),
    sent("an answer", request(b'"result":{}'), NO_MESSAGE, "202"),
    sent(
        "a notification",
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
        "202",
    ),
    sent("a notification of nothing known", b'{"jsonrpc":"2.0","method":"no/such"}', "202"),
    sent("a command as a notification", GOOD.replace(b'"id":1,', b""), "202"),
    identified("an id that is an object", b"{}", NO_MESSAGE, "202 | 400 -32602"),
    identified("an id that is NaN", b"NaN", NO_MESSAGE, "202 | 400 -32602"),
    identified("an id of 5,000 digits", b"9" * 5_000, NO_JSON),
    identified("an id of 100,000 letters", b'"%b"' % (b"a" * 100_000), "200"),
    identified("an id with a surrogate", b'"\\ud800"', "200", NO_JSON),
    invalid_params("a progress token that is an object", with_meta(b'{"progressToken":{},')),
    sent("65 deep", nested(64), TOOL),
    sent("5,000 deep", nested(5_000), f"{TOOL} | {NO_JSON}", NO_JSON),
    sent("1,000,000 brackets", zone(b"[" * 1_000_000), NO_MESSAGE),
    sent("lone surrogate", zone(b'{"name":"\\ud800%b"}' % C), TOOL, NO_JSON),
    sent("null character", zone(b'{"name":"\\u0000%b"}' % C), TOOL),
    sent("2^53 + 1", zone(b'{"name":9007199254740993}'), TOOL),
    sent("400 digits", zone(b'{"name":' + b"9" * 400 + b"}"), TOOL),
    sent("5,000 digits", zone(b'{"name":' + b"9" * 5_000 + b"}"), NO_JSON),
    sent("NaN", zone(b'{"name":NaN}'), TOOL),
    sent("-Infinity", zone(b'{"name":-Infinity}'), TOOL),
    sent("1e999", zone(b'{"name":1e999}'), TOOL),
    sent("a name twice", zone(b'{"name":"Shed","name":"Hutch"}'), NO_MESSAGE),
    sent(
        "a tool's name twice",
        message(b'"name":"list_zones","name":"define_zone","arguments":%b' % NAMED),
        NO_MESSAGE,
    ),
    invalid_params("arguments that are a list", zone(b"[]")),
    invalid_params("arguments that are a text", zone(b'"%b"' % C)),
    sent("arguments that are null", zone(b"null"), TOOL),
    sent("a name that is a number", zone(b'{"name":5}'), TOOL),
    sent("a name that is an object", zone(b'{"name":{"a":["%b"]}}' % C), TOOL),
    sent("a name of 900,000", zone(b'{"name":"%b"}' % (b"a" * 900_000)), TOOL),
    sent("50,001 numbers", zone(b'{"name":[' + b"0," * 50_000 + b"0]}"), NO_MESSAGE),
    sent("20,000 names", zone(b"{%b}" % b",".join(b'"%x":0' % n for n in range(20_000))), TOOL),
    sent("a dry run that is a text", zone(b'{"name":"Hutch","dry_run":"%b"}' % C), TOOL),
    sent("a key with blanks", zone(b'{"name":"Hutch","idempotency_key":"a %b"}' % C), TOOL),
    sent(
        "params of 900,000",
        message(b'"name":"define_zone","arguments":{},"x":"%b"' % (b"a" * 900_000)),
        TOOL,
    ),
    sent("2 MiB", zone(b'{"name":"%b"}' % (b"a" * 2_000_000)), TOO_LARGE),
    unknown_tool("an unknown tool", C),
    unknown_tool("a tool of 10,000 letters", b"a" * 10_000),
    sent(
        "a tool that is a number",
        message(b'"name":5'),
        "400 -32020 | 400 -32602",
        PARAMS_BEFORE,
        head=(CALL[0], b"Mcp-Name: 5"),
    ),
    invalid_params("no tool", message(b""), (CALL[0],)),
    invalid_params("a page that is a number", message(b'"cursor":5', b"tools/list"), (LISTING,)),
    of_method(b"no/such", "an unknown method"),
    of_method(b"tools/../call", "a method with dots"),
    of_method(b"__proto__", "__proto__"),
    of_method(b"resources/list", "resources", "200", "200"),
    of_method(b"prompts/list", "prompts", "200", "200"),
    of_method(b"sampling/createMessage", "a method of the client"),
    of_method(b"subscriptions/listen", "a stream", PARAMS, "200 -32601"),
    of_method(b"initialize", "half a handshake", "404 -32601", PARAMS_BEFORE),
    headed("a foreign origin", "403 ForeignOriginError", b"Origin: https://%b.test" % C),
    headed("the origin of a file", "403 ForeignOriginError", b"Origin: null"),
    headed("our own origin, not allowed", "403 ForeignOriginError", b"Origin: http://<host>"),
    headed("a stolen session", "200", b"Mcp-Session-Id: %b" % C),
    headed("a stream taken up again", "200", b"Last-Event-ID: %b" % C),
    headed("an argument in the head", "200", b"Mcp-Param-Name: %b" % C),
    headed("a surface of nobody", "200 InvalidSurfaceIdError", b"X-Surface-Id: %b" % C),
    sent("compressed", gzip.compress(GOOD), MEDIA_TYPE, head=(*CALL, b"Content-Encoding: gzip")),
    headed("17 KiB of head", HEADERS_TOO_LARGE, b"X-Odd: " + b"a" * 17_000),
    headed("a second token", CREDENTIALS, b"Authorization: Bearer <ada>"),
]

# What the version's line says, with a good call; the host and what is accepted likewise.
VERSIONS = [
    (b"MCP-Protocol-Version: 2031-01-01", MISMATCH),
    (b"MCP-Protocol-Version: ", MISMATCH),
    (b"MCP-Protocol-Version: " + b"9" * 5_000, MISMATCH),
    (b"MCP-Protocol-Version: \xff", MISMATCH),
    (b"MCP-Protocol-Version: 2026-07-28, 2025-11-25", MISMATCH),
]
HOSTS = [
    (b"Host: evil.test\r\n", MISDIRECTED),
    (b"Host: %b.test:80\r\n" % C, MISDIRECTED),
    (b"Host: 127.0.0.1.evil.test:80\r\n", MISDIRECTED),
    (b"Host: localhost.evil.test\r\n", MISDIRECTED),
    (b"Host: evil.test\r\nHost: <host>\r\n", MISDIRECTED),
    (b"Host: \r\n", MISDIRECTED),
    (b"", MISDIRECTED),
]


def mcp(body: bytes, *lines: bytes, version: bytes = NOW) -> bytes:
    """A message to `/mcp`."""
    body = body.replace(b"<version>", version)
    accept = b"Accept: application/json, text/event-stream"
    said = [line.replace(b"<version>", version) for line in lines]
    return post(body, accept, b"MCP-Protocol-Version: " + version, *said, target=b"/mcp")


def table() -> list[Case]:
    """Everything that needs nothing but a service."""
    profile = b"/actors/<grace>/update-profile"
    good = mcp(GOOD, *CALL)
    return [
        *(Case(f"body: {name}", post(body), told) for name, body, told in BODIES),
        *(Case(f"query: {name}", get(b"/zones" + end), told) for name, end, told in QUERIES),
        *(Case(f"path: {name}", get(path), told) for name, path, told in PATHS),
        *(Case(f"head: {name}", get(b"/zones", *more), told) for name, more, told in HEADERS),
        *(
            Case(f"command: {name}", post(b'{"phone":"1"}', *more, target=profile), told)
            for name, more, told in COMMANDS
        ),
        *(Case(*row) for row in WHOLE),
        *(
            Case(f"{method[:9]!r} {target.decode()}", get(target, method=method), told)
            for method, told in METHODS
            for target, _ in HEADS
        ),
        *(Case(f"HEAD {path.decode()}", get(path, method=b"HEAD"), told) for path, told in HEADS),
        *(
            Case(f"MCP {version.decode()}: {name}", mcp(body, *lines, version=version), told)
            for name, lines, body, *expected in MESSAGES
            for version, told in zip((NOW, BEFORE), expected, strict=True)
        ),
        *(
            Case(f"MCP: {line!r}", good.replace(b"MCP-Protocol-Version: " + NOW, line), told)
            for line, told in VERSIONS
        ),
        *(
            Case(f"MCP: {line!r}", good.replace(b"Host: <host>\r\n", line), told)
            for line, told in HOSTS
        ),
    ]


# Requests whose caller hangs up, at once or while the answer is made.
ABANDONED = [
    b"",
    b"GET /zo",
    get(b"/zones"),
    get(b"/openapi.json") * 30,
    post(NAMED),
    post(NAMED)[:-5],
    post(NAMED) * 5,
    post(NAMED) + b"garbage\r\n\r\n",
    post(NAMED, b"Expect: 100-continue")[: -len(NAMED)],
    announced(b"900000", b" " * 500_000),
    CHUNKED + MIB,
    *(mcp(GOOD, *CALL, version=version) for version in (NOW, BEFORE)),
    *(mcp(GOOD, *CALL, version=version)[:-5] for version in (NOW, BEFORE)),
    *(mcp(GOOD, *CALL, version=version) * 5 for version in (NOW, BEFORE)),
    mcp(message(b"", b"tools/list"), LISTING),
]


@contextmanager
def secretive(cluster: Cluster, **settings: str) -> Generator[Server]:
    """A service with a secret in every setting that takes one."""
    with deployment(cluster, True) as made, serving(with_secrets(made, settings)) as server:
        yield server


def with_secrets(made: LocalDeployment, more: Mapping[str, str]) -> LocalDeployment:
    """The same deployment with passwords the database never asks for, and the like."""
    url, projector_url = made.settings["DATABASE_URL"], made.settings["PROJECTOR_DATABASE_URL"]
    introspecting = {
        "kind": "introspection",
        "issuer": "https://opaque.test",
        "endpoint": "http://127.0.0.1:9/introspect",
        "client_id": "beamkeep",
        "client_secret": SECRETS["client-secret"],
        "audiences": [made.url],
    }
    providers = [*json.loads(made.settings["IDENTITY_PROVIDERS"]), introspecting]
    secret = {
        "DATABASE_URL": url.replace("@", f":{SECRETS['database-password']}@", 1),
        "PROJECTOR_DATABASE_URL": projector_url.replace(
            "@", f":{SECRETS['projector-password']}@", 1
        ),
        "MCP_STDIO_ACCESS_TOKEN": SECRETS["stdio-token"],
        "IDENTITY_PROVIDERS": json.dumps(providers),
        "DEFAULT_INTROSPECTION_ISSUER": "https://opaque.test",
        "LOG_LEVEL": "debug",
    }
    return replace(made, settings={**made.settings, **secret, **more})


class Cast:
    """Whom a service knows, and where each of them is in a list."""

    def __init__(self, server: Server) -> None:
        self.ada, self.mallory = server.admin, server.token("mallory")
        self.grace = server.token(f"grace {CANARY}")
        self.grace_id, self.cursors = "", dict[str, str]()

    async def enter(self, server: Server) -> None:
        """Register somebody else who may list, and begin to list."""
        async with httpx2.AsyncClient(base_url=server.url, timeout=PATIENCE) as http:
            admin = As(Rest(http), self.ada)
            grace = await registered(server, admin, f"grace {CANARY}")
            self.grace_id = str(grace.id)
            surface_id = str(seeded.SURFACES[SurfaceKind.HTTP])
            await permit(admin, grace, ["list_zones"], "All", surface_id)
            by_grace = As(admin.calling, self.grace)
            console = {"name": "Console", "kind": "HTTP", "conduit_id": str(seeded.ENTRY)}
            await admin("define_surface", console)
            first = {"limit": "1", "min_token": admin.position_token}
            for name, by, asked, filters in (
                ("own", admin, "list_zones", first),
                ("foreign", by_grace, "list_zones", first),
                ("of another list", admin, "list_surfaces", first),
                ("of other filters", admin, "list_surfaces", {**first, "kind": "HTTP"}),
            ):
                page = await by.once_fresh(asked, filters)
                self.cursors[name] = page.body["next_cursor"]

    @property
    def words(self) -> dict[bytes, bytes]:
        """What stands for them in a request."""
        return {
            b"<ada>": self.ada.encode(),
            b"<mallory>": self.mallory.encode(),
            b"<grace>": self.grace_id.encode(),
        }

    @property
    def secrets(self) -> dict[str, str]:
        """What nobody may read anywhere."""
        tokens = {"ada": self.ada, "grace": self.grace, "mallory": self.mallory}
        signatures = {name: token.rpartition(".")[2] for name, token in tokens.items()}
        return {**SECRETS, **signatures, "canary": CANARY}

    def misplaced(self) -> list[Case]:
        """Cursors that were given to somebody else, for something else, or are not whole."""
        own, foreign = self.cursors["own"], self.cursors["foreign"]
        surfaces, filtered = self.cursors["of another list"], self.cursors["of other filters"]
        flipped = [
            f"{own[:at]}{'B' if own[at] == 'A' else 'A'}{own[at + 1 :]}" for at in (0, 10, 21, 30)
        ]
        rows = [
            ("own", "/zones?limit=1", own, "200"),
            ("foreign", "/zones?limit=1", foreign, MALFORMED),
            ("of another list", "/zones?limit=1", surfaces, MALFORMED),
            ("of another list, too", "/surfaces?limit=1", own, MALFORMED),
            ("of a filter, without it", "/surfaces?limit=1", filtered, MALFORMED),
            ("of no filter, with one", "/surfaces?limit=1&kind=HTTP", surfaces, MALFORMED),
            ("of another filter", "/surfaces?kind=MCP_STDIO", filtered, MALFORMED),
            ("of a list, for a history", f"/actors/{self.grace_id}/history", own, MALFORMED),
            ("truncated", "/zones", own[:-8], MALFORMED),
            ("its first half", "/zones", own[: len(own) // 2], MALFORMED),
            ("one letter short", "/zones", own[1:], MALFORMED),
            ("twice", "/zones", own * 2, MALFORMED),
            ("continued", "/zones", f"{own}AAAA", MALFORMED),
            *((f"flipped {n}", "/zones", text, MALFORMED) for n, text in enumerate(flipped)),
        ]
        asked = {
            where: f"{where}{'&' if '?' in where else '?'}cursor=".encode() for _, where, *_ in rows
        }
        by_mcp = b'"name":"list_zones","arguments":{"cursor":"%b"}'
        calls = (b"Mcp-Method: tools/call", b"Mcp-Name: list_zones")
        return [
            *(
                Case(f"cursor: {name}", get(asked[where] + text.encode()), told)
                for name, where, text, told in rows
            ),
            *(
                Case(f"cursor by MCP: {name}", mcp(message(by_mcp % text.encode()), *calls), TOOL)
                for name, where, text, told in rows
                if where.startswith("/zones") and told == MALFORMED
            ),
            Case("cursor by MCP: a number", mcp(zone(b'{"cursor":5}'), *CALL), TOOL),
        ]


async def test_whatever_is_sent_is_refused_as_it_should_be_and_the_service_continues(
    cluster: Cluster, report: Report
):
    with secretive(cluster) as server:
        cast = Cast(server)
        await cast.enter(server)
        abuser = Abuser(server.url, cast.words)
        cases = [*table(), *cast.misplaced()]
        abuser.expect(cases)
        mutated = send_mutants(abuser)
        for sent in ABANDONED:
            for politely in (True, False):
                abuser.abort(sent, politely)
        abuser.expect(
            [Case("at the end", post(NAMED), "201"), Case("ready", get(b"/ready"), "200")]
        )
        texts = finished(server, abuser)
    found = hits(cast.secrets, texts)
    unhandled = failures(texts["log"].decode())
    report(
        "abuse",
        {
            "cases": len(cases),
            "mutated": mutated,
            "requests": abuser.statuses.total(),
            "statuses": dict(sorted(abuser.statuses.items())),
            "largest_refusal_bytes": abuser.largest_refusal,
            "status_500": abuser.statuses["500"],
            "unhandled": len(unhandled),
            "secrets_found": len(found),
        },
    )
    assert [*abuser.wrong, *unhandled, *found] == []
    assert abuser.statuses["500"] == 0
    assert abuser.largest_refusal <= LARGEST_REFUSAL


def send_mutants(abuser: Abuser) -> int:
    """Send good requests with changes nobody thought of; what comes of each is not known."""
    random, sent = dice(seed(), "abuse"), 0
    corpus = [get(b"/zones?limit=1"), post(NAMED), CHUNKED + chunk(b"10") + LAST_CHUNK]
    corpus += [mcp(GOOD, *CALL, version=version) for version in (NOW, BEFORE)]
    pieces = (b"\r\n", b"\r\n\r\n", b": ", b"chunked", b"HTTP/1.0", b"%00", b"/mcp", b"?", b"0\r\n")
    for _ in rounds("ABUSES", 400, 100, 6):
        # Half a request gets no answer; its caller does not wait for one.
        abuser.send(changed(random, corpus, pieces), seconds=0.1)
        sent += 1
    return sent


def finished(server: Server, abuser: Abuser) -> dict[str, bytes]:
    """All that can be read of a service: its metrics, its answers and, once it ended, its log."""
    before = len(abuser.told)
    abuser.expect([Case("metrics", get(b"/metrics"), "200")])
    metrics = b"".join(abuser.told[before:])
    assert server.stop() == 0
    return {
        "metrics": metrics,
        "answers": b"".join(abuser.told[:before]),
        "log": server.log.read_bytes(),
    }


# Callers that take their time: what they send first, and then again and again.
HEALTH = b"GET /health HTTP/1.1\r\nHost: <host>\r\n\r\n"
ENDLESS = b"Content-Length: 30000"
SLOW = [
    ("nothing", b"", b"", CUT),
    ("one byte", b"G", b"", CUT),
    ("half a head", get(b"/zones")[:-10], b"", CUT),
    ("a head by the byte", b"GET /health HTTP/1.1\r\nX-Odd: ", b"a", CUT),
    ("a head by the line", b"GET /health HTTP/1.1\r\n", b"X-Odd: a\r\n", CUT),
    ("a target by the byte", b"GET /", b"a", CUT),
    ("empty lines", b"", b"\r\n", CUT),
    ("half a second request", HEALTH + b"GET /he", b"a", "200"),
    ("silence after a request", HEALTH, b"", "200"),
    ("a body by the byte", announced(b"30000", b"{"), b" ", INCOMPLETE),
    ("half a body", announced(b"30000", NAMED), b"", INCOMPLETE),
    ("a body by the chunk", CHUNKED, b"1\r\n \r\n", INCOMPLETE),
    ("a chunk's size by the digit", CHUNKED, b"0", INCOMPLETE),
    ("a chunk's extension by the byte", CHUNKED + b"1;", b"a", INCOMPLETE),
    ("a trailer by the byte", CHUNKED + b"0\r\nX: ", b"a", INCOMPLETE),
    (
        "a body that was promised",
        get(b"/zones", JSON, ENDLESS, b"Expect: 100-continue", method=b"POST"),
        b"",
        INCOMPLETE,
    ),
    ("a body nobody asked for", get(b"/zones", ENDLESS), b" ", "200"),
    ("a body for nothing there", get(b"/nowhere", ENDLESS, method=b"POST"), b" ", NO_ROUTE),
    (
        "a body without a token",
        b"POST /zones HTTP/1.1\r\nHost: <host>\r\n" + ENDLESS + b"\r\n\r\n",
        b" ",
        "401 MissingTokenError",
    ),
    *(
        (
            f"a message of {version.decode()} by the byte",
            mcp(b"", *CALL, ENDLESS, version=version).replace(b"Content-Length: 0\r\n", b""),
            b" ",
            INCOMPLETE,
        )
        for version in (NOW, BEFORE)
    ),
]


class Drip:
    """One slow caller, and when the service had enough of it."""

    def __init__(
        self, abuser: Abuser, first: bytes, again: bytes, patience: float, after: "Drip | None"
    ) -> None:
        self._abuser, self._first, self._again, self._patience = abuser, first, again, patience
        self._after = after
        self.came, self.seconds = "", -1.0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def join(self) -> None:
        """Wait for its end."""
        self._thread.join()

    def _run(self) -> None:
        if self._after:
            self._after.join()
        since = time.monotonic()
        with self._abuser.connect(self._first) as connection:
            poll, told = select.poll(), False
            poll.register(connection, select.POLLIN | select.POLLRDHUP)
            while time.monotonic() < since + self._patience:
                for _, event in poll.poll(EVERY * 1000):
                    if event & (select.POLLRDHUP | select.POLLHUP | select.POLLERR):
                        self.seconds = time.monotonic() - since
                    if event & select.POLLIN and not told:
                        self.came, told = self._abuser.answer(connection), True
                        poll.modify(connection, select.POLLRDHUP)
                if self.seconds >= 0:
                    break
                try:
                    connection.sendall(self._again)
                except OSError:
                    self.seconds = time.monotonic() - since
                    break
            self.came = self.came or CUT


def drips(
    abuser: Abuser, rows: Iterable[tuple[str, bytes, bytes, str]], patience: float = PATIENCE
) -> dict[str, Drip]:
    """All of them at once, but of those in chunks as many as one principal may send at once."""
    found, lanes = (
        dict[str, Drip](),
        deque[Drip | None]([None] * Limits().large_bodies_per_principal),
    )
    for name, first, again, _ in rows:
        after = lanes.popleft() if b"chunked" in first else None
        found[name] = Drip(abuser, first, again, patience, after)
        if b"chunked" in first:
            lanes.append(found[name])
    return found


@pytest.mark.timed
async def test_a_slow_caller_is_cut_off_in_time_and_others_are_served_meanwhile(
    cluster: Cluster, report: Report
):
    with secretive(cluster, DEADLINE_SECONDS=str(HURRIED_SECONDS)) as server:
        cast = Cast(server)
        abuser, other = (Abuser(server.url, cast.words) for _ in range(2))
        slow = drips(abuser, SLOW)
        idle = [abuser.connect() for _ in range(200)]
        deaf = connect_and_never_read(abuser, get(b"/openapi.json") * 30)
        served = 0
        while not all(drip.came for drip in slow.values()):
            served += other.send(post(NAMED)) == "201"
        for drip in slow.values():
            drip.join()
        await until_cut(server, (*idle, deaf))
        other.expect([Case("at the end", post(NAMED), "201")])
        texts = finished(server, other)
    texts["answers"] += b"".join(abuser.told)
    found, unhandled = hits(cast.secrets, texts), failures(texts["log"].decode())
    # A call that a stalled machine could not carry out in time is told so, and logged.
    overdue = [line for line in unhandled if '"call failed"' in line and "TimeoutError" in line]
    never_cut = [name for name, drip in slow.items() if drip.seconds < 0]
    wrong = [
        f"{name}: {slow[name].came} after {slow[name].seconds:.1f} s, not {expected}"
        for name, _, _, expected in SLOW
        if slow[name].came != expected or name in never_cut
    ]
    report(
        "abuse, slowly",
        {
            "deadline_seconds": HURRIED_SECONDS,
            "slow": len(slow) + len(idle) + 1,
            "cut_after_most_seconds": round(max(drip.seconds for drip in slow.values()), 1),
            "never_cut": len(never_cut),
            "served_meanwhile": served,
            "status_500": abuser.statuses["500"] + other.statuses["500"],
            "unhandled": len(unhandled) - len(overdue),
            "secrets_found": len(found),
        },
    )
    assert not [*wrong, *other.wrong, *found]
    assert len(overdue) <= other.statuses["503"]
    assert not [line for line in unhandled if line not in overdue]
    assert abuser.statuses["500"] == other.statuses["500"] == 0
    assert served > 0


def connect_and_never_read(abuser: Abuser, sent: bytes) -> socket.socket:
    """A caller that asks for much and fetches nothing."""
    connection = abuser.connect()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    abuser.say(connection, sent)
    return connection


async def until_cut(server: Server, connections: Sequence[socket.socket]) -> None:
    """Wait until the service has ended all of these."""
    await until(lambda: not kept(server, connections), "every idle connection is ended")
    for each in connections:
        each.close()


def kept(server: Server, connections: Iterable[socket.socket]) -> int:
    """How many of these the service still holds open, as the kernel of this machine sees it."""
    here, there = urlsplit(server.url).port, {each.getsockname()[1] for each in connections}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ends = [(row[1].partition(":")[2], row[2].partition(":")[2]) for row in rows if row[3] == "01"]
    return len([1 for own, peer in ends if int(own, 16) == here and int(peer, 16) in there])


# The same attacks on services that are known to be bad.


@asynccontextmanager
async def abused(app: ASGIApp, **options: Any) -> AsyncGenerator[Abuser]:
    """An application on a socket, in this process."""
    async with listening(app, **options) as port:
        yield Abuser(f"http://127.0.0.1:{port}", {b"<ada>": b"ada"})


@asynccontextmanager
async def patient(app: ASGIApp) -> AsyncGenerator[Abuser]:
    """An application on a server that waits for ever, and believes trailers."""
    config = uvicorn.Config(app, port=0, log_config=None, lifespan="off", http="httptools")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    await until(lambda: server.started, "the server has started")
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Abuser(f"http://127.0.0.1:{port}", {b"<ada>": b"ada"})
    finally:
        server.should_exit = True
        await serving


async def test_a_call_that_fails_is_noticed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    service, store = await memory_service()
    app = rest_application(service, Limits())

    async def fails(*_: object) -> None:
        raise RuntimeError

    async def front(scope: Scope, receive: Receive, send: Send) -> None:
        await (fails() if scope["path"] == "/nowhere" else app(scope, receive, send))

    cases = [Case("list", get(b"/zones"), "200"), Case("outright", get(b"/nowhere"), "404")]
    with capture_logs() as lines:
        async with abused(front) as abuser:
            monkeypatch.setattr(store, "open", fails)
            await asyncio.to_thread(abuser.expect, cases)
    lines += [{"event": r.getMessage(), "log_level": r.levelname.lower()} for r in caplog.records]
    log = [json.dumps({"event": line["event"], "level": line["log_level"]}) for line in lines]
    assert abuser.wrong == ["list: 500 InternalError, not 200", "outright: 500, not 404"]
    assert abuser.statuses["500"] == 2
    assert [json.loads(line)["event"].strip() for line in failures("\n".join(log))] == [
        "call failed",
        "application failed",
    ]


@pytest.mark.parametrize("bounded", [False, True])
async def test_a_server_that_waits_for_ever_or_believes_a_trailer_is_noticed(bounded: bool):
    service, _ = await memory_service()
    app = rest_application(service, Limits(deadline_seconds=1))
    held = [row for row in SLOW if row[0] in {"nothing", "a head by the byte", "empty lines"}]
    (trailer,) = [Case(*row) for row in WHOLE if row[0] == "a credential in the trailer"]
    async with abused(app, deadline_seconds=1) if bounded else patient(app) as abuser:
        await asyncio.to_thread(abuser.expect, [trailer])
        slow = drips(abuser, held, PATIENCE if bounded else 3.0)
        for drip in slow.values():
            await asyncio.to_thread(drip.join)
    assert {drip.seconds >= 0 for drip in slow.values()} == {bounded}
    assert (abuser.wrong == []) is bounded


def test_a_secret_in_a_log_is_noticed():
    log = f'{{"event":"call","level":"info","name":"{CANARY}"}}'
    assert hits({"canary": CANARY, "ada": "ada"}, {"log": log.encode()}) == ["canary in log"]
    assert failures(log) == []


def test_a_head_of_many_lines_takes_no_more_time_than_its_length():
    assert not time_counts() or seconds_for(combined, 20_000) < 0.5
    assert seconds_for(joined_anew_for_each_name, 2_000) > 10 * seconds_for(combined, 2_000)


type Lines = Sequence[tuple[bytes, bytes]]


def joined_anew_for_each_name(lines: Lines) -> dict[bytes, bytes]:
    """The head, read as often as it has names."""
    return {name: b", ".join(v for n, v in lines if n == name) for name, _ in lines}


def seconds_for(read: Callable[[Lines], object], number: int) -> float:
    """The processor's time for a head of so many lines, of which one is there twice."""
    lines = [*((b"%x" % n, b"") for n in range(number)), (b"0", b"")]
    since = time.thread_time()
    read(lines)
    return time.thread_time() - since


def test_a_body_of_too_many_values_is_refused_before_its_fields_are_looked_at():
    for arguments in ({"name": [0] * 50_000}, {f"{n}": 0 for n in range(25_001)}):
        with pytest.raises(MalformedRequestError, match="more than 50,000 names and values"):
            parse(DefineZone, arguments)
    with pytest.raises(MalformedRequestError, match="name: Input should be a valid string"):
        parse(DefineZone, {"name": [0] * 49_998})
