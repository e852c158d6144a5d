"""Shipped test suites and strategies, for adapters and plug-ins kept elsewhere.

Needs pytest and hypothesis: `pip install 'echoless[testing]'`.
"""
