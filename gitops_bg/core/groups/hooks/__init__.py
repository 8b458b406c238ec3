"""What hooks of group.yaml are asked, what they answered, and what follows from that."""
