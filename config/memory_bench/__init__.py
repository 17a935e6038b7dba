"""What `evaluate_memory` measures: what remembering costs, and what the outcome check finds."""
