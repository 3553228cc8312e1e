"""The witness: trees over the record, signed checkpoints, proofs and verification."""
