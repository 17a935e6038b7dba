"""Mutes of readers: changes, previews of their effect, and the page."""
