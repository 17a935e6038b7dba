"""What a reader asks for in plain words, read by a grammar into changes of settings. No model is asked."""
