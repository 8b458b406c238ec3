"""What things are and what is to be done: pure data in, pure data out (DESIGN §5).

Nothing here reads a file, a clock or the network, logs, or draws a random number.
"""
