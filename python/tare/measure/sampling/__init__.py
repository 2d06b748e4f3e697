"""Cases, rounds and batches: how samples are taken."""
