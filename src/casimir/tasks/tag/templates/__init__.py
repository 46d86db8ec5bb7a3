"""Templates of features: the language, the sets of this library, and features from them in native code."""
