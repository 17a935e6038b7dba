"""What a model can do here: five typed functions, each bound to one reader by the run."""
