"""HTTP: one edge for REST, MCP, streams, files and pages."""
