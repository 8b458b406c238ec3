"""What hostile or unlucky authors write: it affects their app at most, never the loop (decision 0026)."""
