"""Operations: readiness, probes, metrics."""
