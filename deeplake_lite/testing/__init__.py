"""Test harnesses for plugins and for the package itself, one per kind of object."""
