"""The nouns of KeepM and their rules.

Pure: no disk, clock, randomness or environment. What rules need to know of the policy data
(kinds, limits) arrives as the frozen values of `keepm.config`.
"""
