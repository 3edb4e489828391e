"""A reference that is not all clean."""
