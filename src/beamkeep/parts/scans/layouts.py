"""The layouts of scan files as tables: where each fact of a scan stands, and in which unit."""

from typing import NamedTuple

ELECTRONVOLT_JOULES = 1.602176634e-19
KEV_ANGSTROM = 12.398419843320026
"""The energy of a photon in keV, times its wavelength in angstrom."""

type Units = dict[str, float]
"""What one of each unit is in the unit that is recorded; units are written in lower case."""

SECONDS: Units = {"s": 1, "sec": 1, "second": 1, "seconds": 1, "ms": 1e-3, "us": 1e-6}
KEV: Units = {"kev": 1, "ev": 1e-3, "j": 1e-3 / ELECTRONVOLT_JOULES}
MICROMETRES: Units = {
    **dict.fromkeys(("m", "meter", "meters"), 1e6),
    "mm": 1e3,
    **dict.fromkeys(("um", "\u00b5m", "\u03bcm", "micron", "microns"), 1.0),
    **dict.fromkeys(("micrometer", "micrometers"), 1.0),
    "nm": 1e-3,
}
DEGREES: Units = {
    **dict.fromkeys(("degree", "degrees", "deg"), 1.0),
    **dict.fromkeys(("rad", "radian", "radians"), 57.29577951308232),
}
ANGSTROM: Units = {"angstrom": 1, "a": 1, "nm": 10, "m": 1e10}


class SettingSource(NamedTuple):
    """A dataset that states a setting, its units, and the one that is meant without an attribute.

    Without a unit that is meant, it is the one that is recorded.
    """

    path: str
    units: Units
    meant: str | None = None


class Layout(NamedTuple):
    """Where a layout has the facts of an entry. Of several paths, the first that exists counts."""

    name: str
    frames: tuple[str, ...]
    ranks: frozenset[int]
    joined: str | None = None
    """The path of the first of several datasets that follow each other, numbered."""
    kinds: tuple[str, ...] = ()
    """The dataset that says of each frame what it shows."""
    flats: str | None = None
    darks: str | None = None
    """Frames of their own; then all frames in `frames` are projections."""
    angles: tuple[str, ...] = ()
    is_tomography: bool = True
    """Whether angles and projections are required."""
    start: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    planned: tuple[str, ...] = ()
    """Numbers whose product is how many frames, or projections, were planned."""
    settings: tuple[tuple[str, tuple[SettingSource, ...]], ...] = ()


KINDS = {0: "projection", 1: "flat", 2: "dark", 3: "invalid", -1: "alignment"}
"""What the values of NXtomo's image key mean."""

DETECTOR = "instrument/detector"
SPECIFIC = f"{DETECTOR}/detectorSpecific"
MEASURED = "/measurement/instrument"

NXTOMO = Layout(
    name="NXtomo",
    frames=(f"{DETECTOR}/data", "data/data"),
    ranks=frozenset({3}),
    kinds=(f"{DETECTOR}/image_key_control", f"{DETECTOR}/image_key"),
    angles=("sample/rotation_angle", "data/rotation_angle"),
    start=("start_time",),
    end=("end_time",),
    settings=(
        ("exposure_time", (SettingSource(f"{DETECTOR}/count_time", SECONDS),)),
        (
            "energy",
            (
                SettingSource("instrument/beam/incident_energy", KEV),
                SettingSource("beam/incident_energy", KEV),
                SettingSource("instrument/monochromator/energy", KEV),
            ),
        ),
        ("pixel_size_x", (SettingSource(f"{DETECTOR}/x_pixel_size", MICROMETRES, "m"),)),
        ("pixel_size_y", (SettingSource(f"{DETECTOR}/y_pixel_size", MICROMETRES, "m"),)),
        ("sample_pixel_size_x", (SettingSource("sample/x_pixel_size", MICROMETRES, "m"),)),
        ("sample_pixel_size_y", (SettingSource("sample/y_pixel_size", MICROMETRES, "m"),)),
    ),
)
NXMX = Layout(
    name="NXmx",
    frames=("data/data",),
    ranks=frozenset({3, 4}),
    joined="data/data_000001",
    angles=("sample/transformations/omega", "sample/goniometer/omega"),
    is_tomography=False,
    start=("start_time", f"{SPECIFIC}/data_collection_date"),
    end=("end_time", "end_time_estimated"),
    planned=(f"{SPECIFIC}/nimages", f"{SPECIFIC}/ntrigger"),
    settings=(
        ("exposure_time", (SettingSource(f"{DETECTOR}/count_time", SECONDS),)),
        (
            "energy",
            (
                SettingSource("instrument/beam/incident_energy", KEV, "ev"),
                SettingSource("instrument/beam/incident_wavelength", ANGSTROM),
            ),
        ),
        ("pixel_size_x", (SettingSource(f"{DETECTOR}/x_pixel_size", MICROMETRES, "m"),)),
        ("pixel_size_y", (SettingSource(f"{DETECTOR}/y_pixel_size", MICROMETRES, "m"),)),
    ),
)
DATA_EXCHANGE = Layout(
    name="DataExchange",
    frames=("/exchange/data",),
    ranks=frozenset({3}),
    flats="/exchange/data_white",
    darks="/exchange/data_dark",
    angles=("/exchange/theta",),
    start=("/process/acquisition/start_date",),
    end=("/process/acquisition/end_date",),
    planned=("/process/acquisition/rotation/num_angles",),
    settings=(
        ("exposure_time", (SettingSource(f"{MEASURED}/detector/exposure_time", SECONDS),)),
        ("energy", (SettingSource(f"{MEASURED}/monochromator/energy", KEV),)),
        *(
            (
                f"pixel_size_{axis}",
                (
                    SettingSource(f"{MEASURED}/detector/pixel_size_{axis}", MICROMETRES),
                    SettingSource(f"{MEASURED}/detector/pixel_size", MICROMETRES),
                ),
            )
            for axis in "xy"
        ),
        *(
            (
                f"sample_pixel_size_{axis}",
                (SettingSource(f"{MEASURED}/detection_system/objective/resolution", MICROMETRES),),
            )
            for axis in "xy"
        ),
    ),
)
NEXUS = {layout.name: layout for layout in (NXTOMO, NXMX)}
"""The layouts that an entry names in its `definition`."""
