"""The second look on preference records: forecasts of both rounds."""
