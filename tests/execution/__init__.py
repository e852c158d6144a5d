"""Plans, undo and files of earlier versions."""
