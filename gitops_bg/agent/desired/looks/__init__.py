"""Looks at main: their count, what became of the last one, and who asked for one."""
