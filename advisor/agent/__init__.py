"""The agent: loop, model caller, tool runner, planner."""
