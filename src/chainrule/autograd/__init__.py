"""Automatic differentiation: the graph, the engine, and how ops get onto it."""
