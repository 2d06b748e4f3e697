"""Two records side by side, and the gate."""
