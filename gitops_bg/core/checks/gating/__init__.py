"""The gates, by their subject; `checks.gates` says which of them count when."""
