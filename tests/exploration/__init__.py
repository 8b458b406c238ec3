"""A model checker over the engine: every interleaving of what people, pods, Git and crashes can do, up to a bound."""
