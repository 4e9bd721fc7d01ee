"""QwenOFT: Qwen2.5-VL with places in its prompt at which a regression head reads actions."""
