"""Benchmarks of many training jobs: rebuilt when traces change, replayed and compared every night (`understudy fleet`)."""
