"""The domain: nouns and decisions; pure data in, pure data out (DESIGN §5).

Nothing here reads a file, a clock or the network, logs, or draws a random number.
"""
