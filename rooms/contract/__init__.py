"""The JSON and form contract: validation and normalisation of input, error shapes, ids. No ORM."""
