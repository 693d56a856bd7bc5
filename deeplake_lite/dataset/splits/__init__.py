"""Cutting rows into parts for training and testing."""
