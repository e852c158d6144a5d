"""Stores over a live object of another library, which no URL opens: LangGraph's and mem0's."""
