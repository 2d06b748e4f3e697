"""What one codec writes and another reads, across languages."""
