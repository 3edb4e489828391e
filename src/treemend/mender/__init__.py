"""The recommended method."""
