"""Annotate phases in a browser: what is edited, how it is kept, the server and its one page."""
