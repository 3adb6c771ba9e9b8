"""Ends of waits for the kernel and other processes: a test says what did not come. Nothing is judged by them."""

LIMIT_S = 60.0
