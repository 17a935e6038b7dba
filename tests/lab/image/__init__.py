"""The image, built and run without a Docker daemon."""
