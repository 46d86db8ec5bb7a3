"""Parts of speech."""
