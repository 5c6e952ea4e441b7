"""`trueup prove`: whether the fold is right.

`proof` folds the commands of a sample of keys again, in other batches, and compares the results.
`screen` writes them for people.
"""
