"""The language models that a deployment can call."""

from beamkeep.adapters.extras import MissingExtraError

from .models.provider import Provider, ProviderAccount
from .models.seam import LanguageModel


def language_model(provider: Provider, account: ProviderAccount) -> LanguageModel:
    """Return the adapter of a provider. Raise when its library is not installed."""
    extra = "anthropic" if provider == "anthropic" else "openai"
    try:
        if provider == "anthropic":
            from .models.anthropic_messages import AnthropicModel  # noqa: PLC0415

            return AnthropicModel(account)
        from .models import openai_api  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError(
            f"LANGUAGE_MODEL_PROVIDER is {provider}. Install beamkeep[{extra}]."
        ) from None
    if provider == "openai":
        return openai_api.OpenAiModel(account)
    return openai_api.OpenAiCompatibleModel(account)
