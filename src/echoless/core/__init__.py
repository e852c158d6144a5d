"""Base modules of echoless; they import no other package of it."""
