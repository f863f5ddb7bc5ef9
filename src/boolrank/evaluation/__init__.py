"""How well a model ranks: metrics, what they are of a model on a split, and whether it matters."""
