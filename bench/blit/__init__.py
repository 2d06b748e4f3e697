"""Documents in blit beside parsing: size, and time from Rust and from Python."""
