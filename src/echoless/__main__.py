"""`python -m echoless` is `echoless`."""

from echoless.cli.main import run

if __name__ == "__main__":
    run()
