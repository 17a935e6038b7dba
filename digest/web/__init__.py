"""The doors of the digest room over HTTP: pages, the JSON API, the Google Reader API, and OAuth."""
