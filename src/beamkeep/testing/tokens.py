"""Access tokens: valid ones, and ones that differ from a valid one in one part."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm, get_default_algorithms

from .installation import ISSUER

NOW = 1_800_000_000.0
AUDIENCE = "https://beamkeep.test"

type PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey | Ed448PrivateKey
type Members = Mapping[str, object]

ABSENT = object()
"""As the value of a member: leave the member out."""


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def header(**changes: object) -> Members:
    """Return the header of a valid token, with changes."""
    return _present({"alg": "RS256", "typ": "at+jwt", "kid": "rsa"} | changes)


def claims(**changes: object) -> Members:
    """Return the claims of a valid token, with changes."""
    good: dict[str, object] = {
        "iss": ISSUER,
        "sub": "7f3a",
        "aud": AUDIENCE,
        "client_id": "console",
        "jti": "d1c0",
        "iat": int(NOW) - 10,
        "exp": int(NOW) + 3600,
    }
    return _present(good | changes)


def _present(members: Mapping[str, object]) -> Members:
    return {each: value for each, value in members.items() if value is not ABSENT}


def segment(part: Members | bytes) -> str:
    """Return one base64url segment of a token."""
    text = part if isinstance(part, bytes) else json.dumps(part).encode()
    return urlsafe_b64encode(text).rstrip(b"=").decode()


def mint(
    key: PrivateKey,
    head: Members | bytes | None = None,
    body: Members | bytes | None = None,
    signed_with: str = "RS256",
) -> str:
    """Return a token signed with this algorithm, which its header may contradict."""
    signing_input = f"{segment(head or header())}.{segment(body or claims())}"
    signature = get_default_algorithms()[signed_with].sign(signing_input.encode(), key)
    return f"{signing_input}.{segment(signature)}"


def jwk(key: PrivateKey, kid: str, **members: object) -> dict[str, Any]:
    """Return the public part of a key as a member of a key set."""
    if isinstance(key, RSAPrivateKey):
        shape = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    elif isinstance(key, EllipticCurvePrivateKey):
        shape = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        shape = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**{m: v for m, v in shape.items() if m != "key_ops"}, "kid": kid, **members}
