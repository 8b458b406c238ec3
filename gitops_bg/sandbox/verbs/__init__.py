"""What a request does: reads, writes, patches, deletes, evicts."""
