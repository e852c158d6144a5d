"""The command line: parses, calls the library, prints. One file for each family of commands."""
