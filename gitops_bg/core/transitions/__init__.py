"""From a world to the next: the steps of the engine. Each changes the record and nothing else."""
