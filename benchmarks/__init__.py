"""Measurements: each against a rival or a bound in the same run, kept as JSON by commit."""
