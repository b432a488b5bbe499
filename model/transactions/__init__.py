"""This package models Kafka's transactions: how records and offsets share one outcome."""
