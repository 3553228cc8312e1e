"""The settings of the agents of the service and of the language model."""

from collections.abc import Mapping
from typing import Annotated, Self

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import (
    AfterValidator,
    SecretStr,
    model_validator,
)

from beamkeep.contexts.agent.agent import ModelRef
from beamkeep.parts.settings import CoreSettings, address_of_service

from .models.budget import Price
from .models.provider import (
    COMPATIBLE,
    NO_KEY,
    PUBLIC_URLS,
    Provider,
    ProviderAccount,
)

type ProviderAddress = Annotated[
    str, AfterValidator(address_of_service("https://models.example.org/v1", "key"))
]


class AgentSettings(CoreSettings):
    """The settings of the agents of the service and of the language model."""

    run_debriefer_enabled: bool = True
    """Whether RunDebriefer describes ended runs. Requires LANGUAGE_MODEL_PROVIDER."""
    caution_drafter_enabled: bool = True
    """Whether CautionDrafter proposes cautions after ended runs. Requires
    LANGUAGE_MODEL_PROVIDER."""
    run_supervisor_enabled: bool = False
    """Whether RunSupervisor holds and stops runs that have lost their beam."""
    run_supervisor_tick_seconds: Annotated[float, Ge(0.1)] = 30.0
    """Seconds between two looks of RunSupervisor at the open runs."""
    run_supervisor_settle_seconds: Annotated[float, Ge(0)] = 10.0
    """Seconds for which beam must be lost before RunSupervisor holds a run."""
    run_supervisor_stop_after_seconds: Annotated[float, Ge(0)] = 14400.0
    """Seconds for which beam must be lost before RunSupervisor stops a run that it held; 0 for
    never."""
    caution_promoter_enabled: bool = False
    """Whether CautionPromoter promotes notices that CautionDrafter proposes."""
    caution_promoter_min_confidence: Annotated[float, Ge(0), Le(1)] = 0.7
    """Confidence below which CautionPromoter leaves a notice to an operator."""
    caution_promoter_daily_most: Annotated[int, Ge(0)] = 20
    """Maximum number of notices that CautionPromoter promotes in 24 hours."""
    clearance_expirer_enabled: bool = True
    """Whether ClearanceExpirer expires clearances whose valid_until has passed."""
    clearance_expirer_tick_seconds: Annotated[float, Ge(0.1)] = 300.0
    """Seconds between two looks of ClearanceExpirer at the active clearances."""
    agent_max_event_age_hours: Annotated[float, Gt(0)] = 24.0
    """Hours after which an agent passes over an event that it has not answered."""
    language_model_provider: Provider | None = None
    """Provider of the language model of the agents RunDebriefer and CautionDrafter: `anthropic`,
    `openai`, or `openai_compatible` for another server with chat completions. These agents are
    created at the first start with this setting; later changes of this setting and of the two
    below do not change them."""
    language_model_name: Annotated[str, MinLen(1), MaxLen(200)] | None = None
    """Name of the language model at its provider. Required with LANGUAGE_MODEL_PROVIDER."""
    language_model_snapshot_pin: Annotated[str, MinLen(1), MaxLen(100)] | None = None
    """Exact snapshot of the language model that is asked for. Default: whichever the provider
    answers with."""
    language_model_api_key: SecretStr | None = None
    """Key with which the provider is called. Required for `anthropic` and `openai`."""
    language_model_base_url: ProviderAddress | None = None
    """Address of the provider's API, such as https://models.example.org/v1. Required for
    `openai_compatible`. Default: the public address of the provider."""
    language_model_prices: Mapping[str, Price] = {}
    """Prices of models, as a JSON object by `<provider>/<model>`, each with
    `input_usd_per_million` and `output_usd_per_million`. An agent with a monthly cap calls only
    models that have a price. Default: none."""
    language_model_send_marked_text: bool = False
    """Whether texts that may contain personal data are sent to the language model."""
    store_inference_messages: bool = False
    """Whether prompts and answers of language models are stored; they may name people."""

    @model_validator(mode="after")
    def language_model_is_whole(self) -> Self:
        """Raise ValueError when a language model is named in part."""
        provider, name = self.language_model_provider, self.language_model_name
        if (provider is None) != (name is None):
            lacking = "LANGUAGE_MODEL_PROVIDER" if name else "LANGUAGE_MODEL_NAME"
            raise ValueError(f"Set {lacking} too: a model is named by its provider and its name.")
        needed = {
            "LANGUAGE_MODEL_BASE_URL": provider == COMPATIBLE and not self.language_model_base_url,
            "LANGUAGE_MODEL_API_KEY": provider not in {None, COMPATIBLE}
            and not self.language_model_api_key,
        }
        if lacking := " and ".join(name for name, is_lacking in needed.items() if is_lacking):
            raise ValueError(f"Set {lacking} too: provider {provider} is not reached without.")
        return self

    @property
    def provider_account(self) -> ProviderAccount | None:
        """Where the language model is reached, if the settings name one."""
        if self.language_model_provider is None:
            return None
        key = self.language_model_api_key
        url = self.language_model_base_url or PUBLIC_URLS[self.language_model_provider]
        return ProviderAccount(url, key.get_secret_value() if key else NO_KEY)

    def language_model(self) -> ModelRef | None:
        """Return the model of the seeded agents that call one, if the settings name one."""
        provider, name = self.language_model_provider, self.language_model_name
        if provider is None or name is None:
            return None
        return ModelRef(provider, name, self.language_model_snapshot_pin)
