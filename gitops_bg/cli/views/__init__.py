"""What people see: rows, trees, differences, meanings; for terminals and as JSON."""
