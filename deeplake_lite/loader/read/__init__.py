"""Reads stored rows ahead of their batch, and keeps them in memory."""
