"""A hospital that takes part in a training with secure aggregation."""
