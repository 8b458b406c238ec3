"""Text from outside: decoded with limits, made printable, stripped of secrets. Knows no noun of the core."""
