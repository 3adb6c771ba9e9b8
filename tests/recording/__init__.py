"""What a data directory holds, and how it is read back."""
