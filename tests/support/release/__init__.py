"""Releases that tests make, and the programs that they are held to."""
