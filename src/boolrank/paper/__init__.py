"""The experiments of the paper, and its published results."""
