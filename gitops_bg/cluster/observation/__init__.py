"""What live objects look like: informers, and what the core is told of them."""
