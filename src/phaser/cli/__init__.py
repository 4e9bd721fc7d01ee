"""The command line: one file per verb; heavy libraries are imported by the verb that needs them."""
