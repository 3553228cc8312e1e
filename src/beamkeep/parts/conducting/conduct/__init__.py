"""The conductor as a pure machine: what is known of a conduct decides its next action."""
