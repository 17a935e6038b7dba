"""What goes wrong, done on purpose: `make faults`. Scripts, no part of the test suite."""
