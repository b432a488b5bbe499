"""What is promised of exactly-once source tasks, and why it holds."""
