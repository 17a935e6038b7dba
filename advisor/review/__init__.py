"""Who looks at a proposal between the rules and its storing: the reflector, then the panel."""
