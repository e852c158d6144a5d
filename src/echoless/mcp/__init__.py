"""The door for agents: an MCP server whose tools are the library's functions, and no logic.

`desk` holds what the tools share; `storing`, `supersession`, `looking` and `acting` are the tools,
`answers` and `outcomes` the shapes of what they say; `guidance` holds the report and the prompt,
`serving` the two transports. Needs the extra "mcp".
"""
