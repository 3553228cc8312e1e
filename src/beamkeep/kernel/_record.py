"""`Record`: a plain immutable value of named fields, the only kind of data a context holds."""

from typing import Any, Self, dataclass_transform, get_type_hints

from msgspec import Struct
from msgspec.structs import fields
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


@dataclass_transform(frozen_default=True)
class Record(Struct, frozen=True):
    """A value: made once, equal to another with the same fields, never changed."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, schemas: GetCoreSchemaHandler) -> CoreSchema:
        """Lets commands hold records and surfaces describe them, by their names on the wire."""
        hints, own = get_type_hints(cls, include_extras=True), fields(cls)
        members: dict[str, core_schema.TypedDictField] = {}
        tag, tag_field = cls.__struct_config__.tag, cls.__struct_config__.tag_field
        if tag_field is not None:
            members[tag_field] = core_schema.typed_dict_field(core_schema.literal_schema([tag]))
        members |= {
            field.encode_name: core_schema.typed_dict_field(
                schemas.generate_schema(hints[field.name]), required=field.required
            )
            for field in own
        }
        given = core_schema.typed_dict_schema(
            members, cls_name=cls.__name__, extra_behavior="forbid", ref=cls.__name__
        )
        names = {field.encode_name: field.name for field in own}

        def known(told: dict[str, Any]) -> Self:
            return cls(**{names[name]: value for name, value in told.items() if name in names})

        def named_alike(told: dict[str, Any]) -> Self:
            return cls(**told)

        alike = tag_field is None and names.keys() == {*names.values()}
        return core_schema.no_info_after_validator_function(named_alike if alike else known, given)
