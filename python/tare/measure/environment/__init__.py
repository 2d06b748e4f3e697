"""The machine: how busy it is, its memory, temporary folders, links."""
