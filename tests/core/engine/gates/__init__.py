"""What promotions wait for, what stops them, and what people are told of it."""
