"""Every table and figure of the paper, one function each, from finished runs."""
