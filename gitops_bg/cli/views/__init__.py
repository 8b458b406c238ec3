"""What people are shown: rows, trees, differences, meanings; for terminals and as JSON."""
