"""Data to learn from and to be measured on."""
