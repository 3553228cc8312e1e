"""Language models: one interface, its adapters, the prompt templates and the budget of agents."""
