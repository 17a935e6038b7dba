"""Notifications, and saving links to other services: settings, news, requests and sending."""
