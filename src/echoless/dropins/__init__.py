"""The guard where agents keep their memory already: LangGraph's stores and mem0."""
