"""The refusals of the edge."""

from collections.abc import Sequence

from beamkeep.kernel import Refusal


class RouteNotFoundError(Refusal, status=404):
    """There is nothing at this address. /openapi.json lists every address."""


class MethodNotAllowedError(Refusal, status=405):
    """This address does not accept this method."""

    def __init__(self, allow: Sequence[str]) -> None:
        super().__init__(f"It accepts {' and '.join(allow)}.", allow=allow)
        self.allow = ", ".join(allow).encode()


class MisdirectedRequestError(Refusal, status=421):
    """The Host header does not name this service.

    Call the service by its BASE_URL, or add the host to ALLOWED_HOSTS.
    """


class ForeignOriginError(Refusal, status=403):
    """Web pages of this origin may not call /mcp. Add the origin to MCP_ALLOWED_ORIGINS."""


class BodyIncompleteError(Refusal, status=408):
    """The request body did not arrive in time. Send the request again."""


class BodyTooLargeError(Refusal, status=413):
    """The request body is too large."""


class UrlTooLongError(Refusal, status=414):
    """The URL is too long."""


class UnsupportedMediaTypeError(Refusal, status=415):
    """The request body is not JSON. Send application/json in UTF-8, without compression."""


class TooManyRequestsError(Refusal, status=429, retry_after=1):
    """Too many requests in a short time, or too many at once. Wait, then repeat the request."""


class HeadersTooLargeError(Refusal, status=431):
    """The request headers are too large."""


class InternalError(Refusal, status=500):
    """The service failed. Its log contains the cause, under the correlation id of the response."""


class DeadlineExceededError(Refusal, status=503, retry_after=1):
    """The request took too long, and it is not known whether it changed anything.

    Repeat the request with the same idempotency key, or read the object before trying again.
    """
