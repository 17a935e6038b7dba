"""Notifications and saving elsewhere: what is told, when, where to, and the requests that do it."""
