"""The loop of `trueup run --until-caught-up`, which settles a large log in bounded batches."""
