"""The witness without input and output: the trees over the log, their proofs, and signed notes."""
