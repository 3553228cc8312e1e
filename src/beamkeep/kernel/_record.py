"""`Record`: a plain immutable value of named fields, the only kind of data a context holds."""

from typing import Any, Self, dataclass_transform, get_type_hints

from msgspec import UNSET, Struct
from msgspec.structs import fields
from pydantic import GetCoreSchemaHandler, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, core_schema


@dataclass_transform(frozen_default=True)
class Record(Struct, frozen=True):
    """An immutable value, equal to another of its type with the same fields."""

    @classmethod
    def of(cls, source: object, /, **values: object) -> Self:
        """Return a record of these values; the source has the other fields by the same names."""
        for name in cls.__struct_fields__:
            if name not in values and (value := getattr(source, name, UNSET)) is not UNSET:
                values[name] = value
        return cls(**values)

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, schemas: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema by which commands contain records, by their names on the wire."""
        hints, config = get_type_hints(cls, include_extras=True), cls.__struct_config__
        names = {field.encode_name: field.name for field in fields(cls)}
        tag = core_schema.typed_dict_field(core_schema.literal_schema([config.tag]))
        members = {config.tag_field: tag} if config.tag_field else {}
        for field in fields(cls):
            held = schemas.generate_schema(hints[field.name])
            members[field.encode_name] = core_schema.typed_dict_field(held, required=field.required)
        given = core_schema.typed_dict_schema(
            members, cls_name=cls.__name__, extra_behavior="forbid", ref=cls.__name__
        )
        alike = config.tag_field is None and names.keys() == {*names.values()}

        def known(given: object, read: ValidatorFunctionWrapHandler) -> Self:
            # A command that the service makes itself holds the record, not its JSON form.
            if isinstance(given, cls):
                return given
            values = read(given)
            if alike:
                return cls(**values)
            return cls(**{names[name]: value for name, value in values.items() if name in names})

        return core_schema.no_info_wrap_validator_function(known, given)
