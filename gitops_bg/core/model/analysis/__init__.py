"""Analyses as data: what is measured, the state of a run, and the runs that a record remembers."""
