"""Base modules of echoless, which import no other package of echoless."""
