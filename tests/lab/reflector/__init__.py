"""The reflector on preference records: forecasts of both rounds."""
