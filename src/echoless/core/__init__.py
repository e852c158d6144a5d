"""What every part of echoless stands on: it imports no other part of it but the errors."""
