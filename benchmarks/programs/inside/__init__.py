"""What runs inside the environment of a program: its own API writes, lists, searches and edits."""
