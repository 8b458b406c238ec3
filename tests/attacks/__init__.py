"""What hostile or unlucky authors write: it strikes their app at most, never the loop (decision 0026)."""
