"""Prompts: questions that people ask in every shift, with the tools that answer them."""

import mcp_types as types
from mcp.shared.exceptions import MCPError

from beamkeep.kernel import Record

MOST_CHARACTERS = 100


class ShiftPrompt(Record):
    """A question that people ask often."""

    title: str
    arguments: dict[str, str]
    """The texts of its arguments by name; all are required."""
    text: str


PROMPTS = {
    "shift_handover": ShiftPrompt(
        "Shift handover",
        {"from": "Beginning of the shift, ISO 8601.", "to": "End of the shift, ISO 8601."},
        "Call get_shift_handover from {from} to {to}. Summarise it for the next shift: first what"
        " is open and what expires soon, then what happened. Name every object by its name and id.",
    ),
    "why_not_ready": ShiftPrompt(
        "Why a plan is not ready",
        {"plan_id": "Id of the plan."},
        "Call get_plan_readiness for the plan {plan_id}. For each check that fails, say what is"
        " wrong and which operation clears it. Change nothing.",
    ),
    "brief_me_on_run": ShiftPrompt(
        "Briefing on a run",
        {"run_id": "Id of the run."},
        "Brief me on the run {run_id}: call get_run, get_run_history and list_run_logbook_entries,"
        " by call_operation where they are not listed. Say its status and why, what was adjusted,"
        " and what people noted. Change nothing.",
    ),
}


async def list_prompts(
    context: object, params: types.PaginatedRequestParams | None
) -> types.ListPromptsResult:
    """Return every prompt."""
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                title=prompt.title,
                arguments=[
                    types.PromptArgument(name=argument, description=text, required=True)
                    for argument, text in prompt.arguments.items()
                ],
            )
            for name, prompt in PROMPTS.items()
        ]
    )


async def get_prompt(
    context: object, params: types.GetPromptRequestParams
) -> types.GetPromptResult:
    """Return a prompt with its arguments filled in. Raise MCPError when one is missing."""
    prompt, given = PROMPTS.get(params.name), params.arguments or {}
    if prompt is None:
        raise MCPError(types.INVALID_PARAMS, f"There is no prompt {params.name[:50]!r}.")
    if given.keys() != prompt.arguments.keys():
        needed = ", ".join(prompt.arguments)
        raise MCPError(types.INVALID_PARAMS, f"{params.name} takes exactly: {needed}.")
    if not all(value.isprintable() and len(value) <= MOST_CHARACTERS for value in given.values()):
        message = f"An argument is one line of at most {MOST_CHARACTERS} characters."
        raise MCPError(types.INVALID_PARAMS, message)
    said = types.TextContent(text=prompt.text.format_map(given))
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=said)])
