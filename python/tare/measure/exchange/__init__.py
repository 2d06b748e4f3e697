"""Exchange: bytes that one codec writes and another reads, across languages."""
