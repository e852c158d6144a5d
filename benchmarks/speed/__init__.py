"""Speed, side by side with other tools: `python -m benchmarks.speed NAME`."""
