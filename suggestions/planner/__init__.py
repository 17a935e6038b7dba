"""The planner: topics in titles, a reader's tastes, how much they vary, forecasts, hypotheses."""
