"""Records: their shape, journals, what is used again, what others published."""
