"""Utilities, under PyTorch's paths."""
