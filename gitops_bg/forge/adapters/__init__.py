"""What a forge is asked in its own words: one adapter for each API, over one way of reading answers."""
