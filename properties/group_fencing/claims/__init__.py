"""What is claimed of groups that read, process and write.  `promises` says what users rely on, `classic` and `modern`
why it is so; `transactions` and `over_core` what members' transactions have to do with those of model/transactions."""
