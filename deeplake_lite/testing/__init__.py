"""Test harnesses for plugins and for the package itself."""
