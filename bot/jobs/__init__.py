"""Durable jobs: what a delivery asks for, the steps it is made of, and the queue that keeps both."""
