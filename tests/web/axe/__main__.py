"""Installs axe-core."""

from tests.web.axe import install

print(install())
