"""Agent: software agents, what they may call and cost, and which of their results to doubt."""

from . import agent, at_risk, costs

OPERATIONS = agent.OPERATIONS
QUESTIONS = (*at_risk.QUESTIONS, *agent.QUESTIONS, *costs.QUESTIONS)
