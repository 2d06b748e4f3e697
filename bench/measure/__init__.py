"""What `tare measure` itself costs, and how steady its figures are."""
