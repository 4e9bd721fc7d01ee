"""Other people's trainers, with rehearsal in them."""
