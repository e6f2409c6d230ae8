"""Cannot be imported: a library of the framework is missing."""

raise ImportError("libsaboteur.so.3: cannot open shared object file")
