"""The equivalence gate on the host's side: make the bundle of a network, compare a framework's arrays with it."""
