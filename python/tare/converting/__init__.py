"""What stands behind ``tare.convert``: rows in batches, and what a conversion changed."""
