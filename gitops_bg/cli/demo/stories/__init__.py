"""The days that the demo plays, step by step."""
