"""The MCP server of `ask-bridge mcp`. The third-party package is `mcp`; this one is `bridge_client.mcp`."""
