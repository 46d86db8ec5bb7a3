"""Where the data of experiments come from."""
