"""Text that others wrote: decoded with limits, shown without harm, rid of secrets. Knows no noun of the core."""
