"""QwenGR00T: Qwen2.5-VL whose tokens condition a flow-matching transformer of actions."""
