"""Facts and records: dtypes, devices, shapes, trees, Tensor, op declarations, and the door that calls them."""
