"""Feed: what happened, in the order of the log, and the subscriptions that are told of it."""

from . import events, subscription

OPERATIONS = subscription.OPERATIONS
QUESTIONS = (*events.QUESTIONS, *subscription.QUESTIONS)
