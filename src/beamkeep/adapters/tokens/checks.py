"""The checks of claims that signed and introspected tokens share, each with its remedy."""

from .claims import LEEWAY, Claims, audience_matches, numeric_date, printable_name
from .faults import any_of, at, refused, shown, without_value


def require_issuer(claims: Claims, issuer: str) -> None:
    """Raise InvalidTokenError when a token names another issuer."""
    if claims.get("iss") != issuer:
        raise refused(
            "iss",
            "iss",
            expected=issuer,
            found=shown(claims.get("iss")),
            remedy="Set issuer of the provider's entry to exactly the iss of its tokens.",
        )


def require_audience(claims: Claims, accepted: tuple[str, ...]) -> None:
    """Raise InvalidTokenError when a token is meant for another service."""
    if not audience_matches(claims.get("aud"), accepted):
        raise refused(
            "aud",
            "aud",
            expected=any_of(accepted)
            or "no aud, because audiences of the provider's entry is empty",
            found=shown(claims.get("aud")),
            remedy=(
                "Request the token for this service. If this aud means this service and no other,"
                " add it to audiences of the provider's entry."
            ),
        )


def require_name(claims: Claims, claim: str) -> str:
    """Return a claim that is a printable text. Raise InvalidTokenError when it is not one."""
    name = printable_name(claims.get(claim))
    if name is None:
        raise refused(
            claim,
            claim,
            expected="1 to 255 printable characters",
            found=without_value(claims.get(claim)),
            remedy=f"Configure the provider to add {claim} to its access tokens.",
        )
    return name


def require_time(claims: Claims, claim: str) -> float:
    """Return a claim that is a time. Raise InvalidTokenError when it is not one."""
    seconds = numeric_date(claims.get(claim))
    if seconds is None:
        raise refused(
            claim,
            claim,
            expected="seconds since 1970, as a number",
            found=shown(claims.get(claim)),
            remedy=f"Configure the provider to add {claim} to its tokens.",
        )
    return seconds


def require_unexpired(expires: float, now: float) -> None:
    """Raise InvalidTokenError when a token has expired."""
    if expires + LEEWAY <= now:
        raise refused(
            "expired",
            "exp",
            expected=f"a time after {at(now - LEEWAY)}",
            found=at(expires),
            remedy="Obtain a new token. If it is new, compare the clocks of both hosts.",
        )


def require_begun(begins: float, claim: str, now: float) -> None:
    """Raise InvalidTokenError when a token is not valid yet."""
    if begins - LEEWAY > now:
        raise refused(
            "not_yet_valid",
            claim,
            expected=f"a time before {at(now + LEEWAY)}",
            found=at(begins),
            remedy="Compare the clock of this host with that of the provider.",
        )


def refuse_bound(claims: Claims) -> None:
    """Raise InvalidTokenError for a token that is bound to a key of its sender."""
    # We do not verify the binding to the sender's key, so such a token proves nothing.
    if "cnf" in claims:
        raise refused(
            "cnf",
            "cnf",
            expected="nothing",
            found="a key that the token is bound to",
            remedy="Turn off DPoP and mutual TLS for this client at the provider.",
        )
