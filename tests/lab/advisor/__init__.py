"""Whether the advisor helps: the real services driven through a simulated world, beside rules on arrays."""
