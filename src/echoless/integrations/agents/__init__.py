"""The write guard in front of memories of other libraries: LangGraph's stores and mem0."""
