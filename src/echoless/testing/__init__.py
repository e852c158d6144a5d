"""Shipped test suites and strategies, for stores and plug-ins of other packages.

Needs pytest and hypothesis: `pip install 'echoless[testing]'`.
"""
