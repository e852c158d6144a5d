"""Plans, the journal that carries them out, undo, recovery, checks, and transfer between stores."""
