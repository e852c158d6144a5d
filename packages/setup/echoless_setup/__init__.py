"""The command `echoless setup`: a memory for the agents of a machine."""
