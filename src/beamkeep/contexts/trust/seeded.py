"""Fixed ids of the zones, conduits, surfaces and policies that every deployment has."""

from uuid import UUID

from beamkeep.kernel import SurfaceKind


def _fixed(number: str) -> UUID:
    return UUID(f"00000000-0000-7000-8000-0000000000{number}")


CLIENTS, SERVICE, WORKERS = _fixed("10"), _fixed("11"), _fixed("12")
ENTRY, INTERNAL = _fixed("20"), _fixed("21")
SURFACES = {
    SurfaceKind.HTTP: _fixed("30"),
    SurfaceKind.MCP_STDIO: _fixed("31"),
    SurfaceKind.MCP_STREAMABLE_HTTP: _fixed("32"),
}
MONITORS = _fixed("40")
DELIVERIES = _fixed("41")
CHECKS = _fixed("42")
MINTING = _fixed("43")
