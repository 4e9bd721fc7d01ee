"""Any datasets on disk as a stream of tasks."""
