"""The MCP face: a tool is typed parameters, one operation, one result."""
