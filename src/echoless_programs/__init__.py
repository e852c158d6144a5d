"""The jobs of five programs that echoless takes over: their stores, their commands, their tools.

recall, llm-memory, ego-mcp, sliding-context and wt-memory. echoless imports nothing of this; it
finds the stores and commands by entry points.
"""
