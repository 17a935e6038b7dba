"""What a model can do here: nine typed functions, each bound to one reader by the run."""
