"""Verdicts: which codec to use for a use, how sure that is, and in which words.

- `choice`: which codecs qualify, with their figures.
- `negligible`: which of those that cost nearly the same is preferred.
- `confidence`: *clear*, *close* or *can't tell*, and why.
- `figures`: the fastest, the smallest, and what the user has.
- `break_even`: the bandwidth or read count beyond which another codec wins.
- `text`: the words; `units`: sizes and times in them.
"""
