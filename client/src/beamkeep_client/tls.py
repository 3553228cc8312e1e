"""Why a connection with TLS fails, and what to do about it."""

import ssl

EXPIRED, NOT_YET = 10, 9
UNKNOWN = frozenset({2, 18, 19, 20, 21})
OTHER_NAME = frozenset({62, 64})
"""Codes of OpenSSL for certificates that are not accepted."""
NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"})
"""Reasons of OpenSSL when the other side does not speak TLS."""


def tls_cause(error: BaseException, url: str) -> str | None:
    """Return in words what is wrong with TLS, and the remedy; None for another error."""
    found = _tls_error(error)
    if found is None:
        # A server that expects TLS ends a connection that begins without.
        if url.lower().startswith("http:") and type(error).__name__ in {
            *("RemoteProtocolError", "ReadError")
        }:
            return "The connection was closed. If the server expects TLS, write https:// instead."
        return None
    if not isinstance(found, ssl.SSLCertVerificationError):
        if found.reason in NO_TLS:
            return "The server does not speak TLS on this port. Check the port of the address."
        return (
            f"TLS fails: {found.reason or 'no reason is given'}. Check the server's TLS settings."
        )
    code = found.verify_code
    if code == EXPIRED:
        return (
            "The certificate of the server has expired. Renew the certificate, or correct the clock"
            " of this machine."
        )
    if code == NOT_YET:
        return (
            "The certificate of the server is not valid yet. Correct the clock of this machine, or"
            " that of the machine that made the certificate."
        )
    if code in UNKNOWN:
        return (
            "The authority that signed the certificate of the server is not known here. Set"
            " SSL_CERT_FILE to a file with the certificate of the authority."
        )
    if code in OTHER_NAME:
        return (
            "The certificate of the server is for another host name. Write the name that the"
            " certificate has, or give the server a certificate for this name."
        )
    return f"The certificate of the server is not accepted: {found.verify_message}."


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error
