# The part of ophyd that the tests use; the package itself ships no types.
