"""Names of codecs, apart from their libraries, so that a help text need not load those."""

CODECS = ("raw", "png", "webp-lossless", "avif", "webp", "jpeg", "h264")
DEFAULT_CODEC = "avif:80"
"""3.4 times fewer bytes than lossless WebP at 96 pixels, 4.8 at 256, read as fast; what it costs in
loss and buys at equal bytes is in docs/benchmarks-codecs.md."""
