"""Documents for everybody: each is made and compressed once, for all who ask for it."""

import asyncio
import gzip
from collections.abc import Callable

from .messages import Headers, HttpRequest, HttpResponse

VARY: Headers = {b"vary": b"accept-encoding"}
COMPRESSED: Headers = {**VARY, b"content-encoding": b"gzip"}


class PublicDocument:
    """A document that is made when it is first asked for, and kept."""

    def __init__(self, headers: Headers, make: Callable[[], bytes]) -> None:
        self._headers, self._make = headers, make
        self._making = asyncio.Lock()
        self._forms: tuple[bytes, bytes] | None = None

    async def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer with the document, compressed if the client accepts that."""
        if self._forms is None:
            async with self._making:
                self._forms = self._forms or await asyncio.to_thread(self._made)
        plain, compressed = self._forms
        if accepts_gzip(request):
            return HttpResponse(200, {**self._headers, **COMPRESSED}, compressed)
        return HttpResponse(200, {**self._headers, **VARY}, plain)

    def _made(self) -> tuple[bytes, bytes]:
        plain = self._make()
        return plain, gzip.compress(plain, mtime=0)


def accepts_gzip(request: HttpRequest) -> bool:
    """Return whether the client accepts an answer that is compressed with gzip."""
    accepted = request.headers.get(b"accept-encoding", b"").split(b",")
    offers = [offer.strip().lower().partition(b";") for offer in accepted]
    weights = {name.strip(): weight.replace(b" ", b"") for name, _, weight in offers}
    return weights.get(b"gzip", b"q=0") not in {b"q=0", b"q=0.0", b"q=0.00", b"q=0.000"}
