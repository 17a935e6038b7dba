"""The agent: its loop with the tool calls, the error policy, the planner."""
