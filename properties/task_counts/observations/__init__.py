"""What an observed event or call of task counts (KIP-618) says about the model's state and steps."""
