"""The worker of Python: answers requests in a process of its own."""
