"""OpenVLA-OFT: Llama-2 with two vision towers, read bidirectionally, and a regression head."""
