"""Changes of settings, kind by kind."""
