"""Work spread over processes, beside the work alone and other tools."""
