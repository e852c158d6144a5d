"""Store in the file of the MCP reference memory server: observations, or the entities."""

from echoless.stores.mcp_memory.store import McpMemoryStore

__all__ = ["McpMemoryStore"]
