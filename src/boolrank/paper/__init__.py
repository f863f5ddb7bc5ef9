"""The paper's experiments and figures."""
