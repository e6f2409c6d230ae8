"""Everything that runs outside the frameworks' environments: planning, running, collecting, drawing."""
