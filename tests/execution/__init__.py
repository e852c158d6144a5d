"""Plans and undo."""
