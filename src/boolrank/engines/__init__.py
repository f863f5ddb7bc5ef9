"""Where loops run: threads of this process, and worker processes."""
