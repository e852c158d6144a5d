"""Jobs of other programs on the engine: their profiles, their parameters, their answers.

Each package sets a profile, calls `find`, `plan` and `apply`, and says the result as that program
says it. None of them decides anything by itself.
"""
