"""Chunked compression beside the stock tools."""
