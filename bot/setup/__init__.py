"""Registering the App at GitHub through a manifest, so that nobody has to click permissions together."""
