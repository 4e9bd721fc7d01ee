"""Parts that the real backbones share: towers, heads, prompts, images, numbers."""
