"""The gates, by what they look at; which of them count when is said in `checks.gates`."""
