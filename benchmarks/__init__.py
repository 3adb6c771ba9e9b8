"""Numbers of speed and memory: `make bench` measures and writes RESULTS.md beside this file."""
