"""Feed: what happened, in the order of the log, and the subscriptions to it."""

from . import events, subscription, witness

OPERATIONS = subscription.OPERATIONS
QUESTIONS = (*events.QUESTIONS, *witness.QUESTIONS, *subscription.QUESTIONS)
