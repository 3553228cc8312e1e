"""What stands between a browser and the service, and can be shut."""

from contextlib import AsyncExitStack
from urllib.parse import urlsplit

from tests.console.visit import Beamline
from tests.support.proxy import Proxy, Step


class Gate:
    """A proxy between browsers and the service, worked from the thread of the test."""

    def __init__(self, beamline: Beamline) -> None:
        self._beamline, self._stack = beamline, AsyncExitStack()
        port = urlsplit(beamline.url).port
        assert port
        self._proxy = beamline.run(self._stack.enter_async_context(Proxy.before(port)))
        self._proxy.counting = b"GET /events HTTP/1.1\r\n"
        self.url = f"http://127.0.0.1:{self._proxy.port}"

    def cut(self) -> None:
        """Lose every connection there is."""
        self._beamline.run(self._cut())

    def lose(self, marker: bytes, after: Step) -> None:
        """Lose the next connection that sends these bytes, and every new one.

        A browser repeats by itself what it has sent over a connection that was lost.
        """
        self._proxy.cut_at(marker, after, leave=True)

    def shut(self, away: bool) -> None:
        """Turn every connection away, or let them in again."""
        self._proxy.away = away
        if away:
            self.cut()

    @property
    def feeds(self) -> int:
        """Return how many connections there are by which a feed is read."""
        return self._proxy.counted

    def close(self) -> None:
        self._beamline.run(self._stack.aclose())

    async def _cut(self) -> None:
        self._proxy.cut()
