"""The settings of public pages and of the registry of DOIs."""

from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    model_validator,
)

from beamkeep.parts.settings import CoreSettings, address_of_service, require_whole

from .datacite import DataciteAccount

type RegistryAddress = Annotated[
    str, AfterValidator(address_of_service("https://api.test.datacite.org", "password"))
]


class PublishingSettings(CoreSettings):
    """The settings of public pages and of the registry of DOIs."""

    asset_landing_page_template: Annotated[str, Field(pattern=r"\{asset_id\}")] | None = None
    """Address of an asset's landing page in instrument records; {base_url} and {asset_id} are
    replaced, and {asset_id} is required. Default: {base_url}/pages/assets/{asset_id}."""
    dataset_page: Annotated[str, Field(pattern=r"\{dataset_id\}")] | None = None
    """Address of a dataset's landing page, to which its DOI leads; {base_url} and {dataset_id} are
    replaced, and {dataset_id} is required. The page must be open to everybody. Default:
    {base_url}/pages/datasets/{dataset_id}, which the service itself serves."""
    edition_page: Annotated[str, Field(pattern=r"\{edition_id\}")] | None = None
    """Address of an edition's landing page, to which its DOI leads; {base_url} and {edition_id} are
    replaced, and {edition_id} is required. The page must be open to everybody. Default:
    {base_url}/pages/editions/{edition_id}, which the service itself serves."""
    datacite_url: RegistryAddress | None = None
    """Address of the REST API of DataCite at which DOIs are registered, such as
    https://api.test.datacite.org. Required, with the three settings below, to mint DOIs."""
    datacite_prefix: Annotated[str, Field(pattern=r"^10\.[0-9]{4,9}$")] | None = None
    """Prefix of the DOIs that this deployment registers, such as 10.5072."""
    datacite_repository_id: str | None = None
    """Repository account at DataCite, such as FACILITY.DATA."""
    datacite_password: SecretStr | None = None
    """Password of the repository account at DataCite."""

    @model_validator(mode="after")
    def registry_is_whole(self) -> Self:
        """Raise ValueError when the registry of DOIs is named in part."""
        parts = {
            "DATACITE_URL": self.datacite_url,
            "DATACITE_PREFIX": self.datacite_prefix,
            "DATACITE_REPOSITORY_ID": self.datacite_repository_id,
            "DATACITE_PASSWORD": self.datacite_password,
        }
        require_whole(parts, "DOIs are registered with all four.")
        return self

    def page(self, template: str | None, noun: str) -> str:
        """Return the address of the pages of a kind of object, with a place for the id."""
        own = f"{{base_url}}/pages/{noun}s/{{{noun}_id}}"
        return (template or own).replace("{base_url}", self.base_url)

    @property
    def datacite(self) -> DataciteAccount | None:
        """The account by which DOIs are registered, if there is one."""
        url, repository, password = (
            self.datacite_url,
            self.datacite_repository_id,
            self.datacite_password,
        )
        if not url or not repository or not password:
            return None
        return DataciteAccount(url, repository, password.get_secret_value())
