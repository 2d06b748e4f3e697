"""R's own formats outside R, beside R and their compressors."""
