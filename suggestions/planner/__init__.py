"""The planner: a posterior over a reader's tastes, gains, forecasts, hypotheses."""
