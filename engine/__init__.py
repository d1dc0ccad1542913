"""Source text in, findings and memory estimates out."""
