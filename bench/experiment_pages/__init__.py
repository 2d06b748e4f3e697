"""The pages of `docs/experiments`: published figures beside those of a record."""
