"""MCP server for agents, whose tools are the library's functions; no logic of its own.

`served_store` holds what the tools share. `ingest_tools`, `read_tools` and `write_tools` hold the
tools, `core/answers` the schemas of their answers; `instructions` holds the report and the prompt,
`server` the two transports. Needs the extra "mcp".
"""
