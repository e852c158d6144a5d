"""Kinds of store in a database or a library: SQL, Chroma, LanceDB, Qdrant, LangGraph, mem0.

They import the contract and the parts of `echoless.stores` and `echoless.core`; echoless imports
none of them, and finds them by the entry points `echoless.stores`.
"""
