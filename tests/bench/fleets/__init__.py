"""What environments cost, as counts."""
