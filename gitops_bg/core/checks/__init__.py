"""From the world to an answer: gates, sizes, availability, ports, phases. Nothing here changes anything."""
