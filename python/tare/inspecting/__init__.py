"""What stands behind ``tare.inspect``: one file for each way of laying out bytes."""
