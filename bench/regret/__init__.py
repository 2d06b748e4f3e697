"""How right recommendations are, by an oracle that times every codec with plain library calls."""
