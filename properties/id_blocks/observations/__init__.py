"""What an observed event or call of producer id blocks (KIP-730) says about the model's state and steps."""
