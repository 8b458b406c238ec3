"""What a group measures before it is promoted, and after: `answers` asks, `verdicts` are the steps."""
