"""The cabling audit: which port is really joined to which, found by lighting fibres and looking where light arrives.

Pure: what to select in which round, what light then says, and what that means against the fabric file. Whose nodes may
be audited, and how a round is told to agents, is the engine's business.
"""
