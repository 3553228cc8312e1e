"""`Record`: a plain immutable value of named fields, the only kind of data a context holds."""

from typing import Any, dataclass_transform, get_type_hints

from msgspec import Struct
from msgspec.structs import fields
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


@dataclass_transform(frozen_default=True)
class Record(Struct, frozen=True):
    """A value: made once, equal to another with the same fields, never changed."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, schemas: GetCoreSchemaHandler) -> CoreSchema:
        """Lets commands hold records and surfaces describe them."""
        hints = get_type_hints(cls, include_extras=True)
        members = {
            field.name: core_schema.typed_dict_field(
                schemas.generate_schema(hints[field.name]), required=field.required
            )
            for field in fields(cls)
        }
        given = core_schema.typed_dict_schema(
            members, cls_name=cls.__name__, extra_behavior="forbid", ref=cls.__name__
        )
        return core_schema.no_info_after_validator_function(lambda known: cls(**known), given)
