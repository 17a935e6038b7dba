"""Whether a model earns its cost: arms on the wire beside the planner, judged on readers' later thumbs."""
