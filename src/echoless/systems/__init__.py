"""Jobs of other programs, carried out on their own stores by the engine of echoless."""
