"""The result of a tool: the body that REST would send, as text and as structured content."""

import mcp_types as types
import msgspec

from beamkeep.runtime.codec import encode


def tool_result(body: bytes, failed: bool = False, **headers: object) -> types.CallToolResult:
    """Return the body that REST would send, and its headers as `_meta`."""
    meta = {name: value for name, value in headers.items() if value is not None}
    # A model reads only the content, so the content has both as text too.
    texts = [body or b"{}", *([encode(meta)] if meta else [])]
    return types.CallToolResult(
        content=[types.TextContent(text=text.decode()) for text in texts],
        structured_content=msgspec.json.decode(texts[0]),
        is_error=failed,
        _meta=meta or None,
    )
