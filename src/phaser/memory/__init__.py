"""What a finished task leaves behind: rules that choose frames, and proof of their budget."""
