"""Every operation succeeds in some test, and every refusal it declares is met in one."""
