"""What must be true of transactions, and why it is: `core`, then what it leaves out, a file each."""
