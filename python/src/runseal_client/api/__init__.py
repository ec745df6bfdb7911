# Made by `node tools/src/python-api/make-python-api.ts` from the OpenAPI document. Do not change it by hand.
"""What the service takes and answers: `requests` and `answers`."""
