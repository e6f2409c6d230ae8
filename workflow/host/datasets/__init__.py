"""One data set a file: `load()` returns (inputs float32 (n, *shape), targets int64 (n,)), the same at every call."""
