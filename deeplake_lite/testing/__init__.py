"""What plug-ins test themselves with: one harness per kind."""
