"""The Google Reader API, as FreshRSS and Miniflux serve it to feed readers of others."""
