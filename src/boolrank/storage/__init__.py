"""Array folders on disk."""
