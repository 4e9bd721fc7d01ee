"""The stream of tasks, one task's learner, and how current and rehearsed frames mix."""
