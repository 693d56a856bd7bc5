"""Export of rows as arrays and tensors."""
