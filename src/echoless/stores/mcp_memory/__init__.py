"""Store in the file of the MCP reference memory server."""

from echoless.stores.mcp_memory.store import McpMemoryStore as McpMemoryStore
