"""What an observed event or call of transactions says about the model's state and steps."""
