"""`make bench`: measures what DESIGN §8 promises, and prints a table. Asserts no time, judges no code."""
