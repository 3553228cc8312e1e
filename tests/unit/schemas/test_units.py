"""Unit codes: what each system knows and what it does not."""

import subprocess
import sys

import pytest

from beamkeep.schemas.units import is_code

KNOWN = {
    "udunits": "keV eV mm um µm degC K m/s m.s-1 kg.m2.s-3 mrad arcsec angstrom % 1 mbar count/s",
    "ucum": "m mm um keV Cel mCel mg/dL 10*3/uL 10*-3 {cells} mg{creat}/dL /m (m/s).kg "
    "g/(8.h){shift} [in_i] [degF] B[10.nV] dB[SPL] [m/s2/Hz^(1/2)] KiBy %[slope] m2 s-1 kg.m2/s3",
    "qudt": "KiloEV EV MilliM MicroM DEG_C DEG RAD MilliRAD PERCENT UNITLESS N-M M-PER-SEC PA",
    "iec61360": "UAA726 0112/2///62720#UAA726 0112/2///62720#UAB123#001 0112/2///61360_4#UAA033",
}
UNKNOWN = {
    "udunits": "kEv photons m^999999999 m( unknown no_unit ? - # m;m 1e400",
    "ucum": "kdeg k[in_i] m/ m//s (m m) m^2 1e3 m{a{b}} (m/s)2 degC metre Torr m- . 00 mmin m.",
    "qudt": "keV KILOEV kiloeV unit:EV UNKNOWN DegC",
    "iec61360": "UAA999 uaa726 0112/2///62720#UA726 62720#UAA726 0112/2///62720#UAA726#1 metre",
}


@pytest.mark.parametrize("system", KNOWN)
def test_a_system_knows_its_codes(system: str):
    assert [code for code in KNOWN[system].split() if not is_code(system, code)] == []


@pytest.mark.parametrize("system", UNKNOWN)
def test_a_system_refuses_what_is_no_code_of_it(system: str):
    assert [code for code in UNKNOWN[system].split() if is_code(system, code)] == []


@pytest.mark.parametrize("system", KNOWN)
def test_a_code_has_no_blanks_around_it_and_nothing_hidden_in_it(system: str):
    code = KNOWN[system].split(maxsplit=1)[0]
    for spoilt in (
        f" {code}",
        f"{code} ",
        f"{code}\n",
        f"{code}\x00",
        f"{code}\x00x",
        f"{code}\u200b",
    ):
        assert not is_code(system, spoilt)


def test_udunits_are_not_rewritten_before_they_are_parsed():
    assert not is_code("udunits", "m UTC")
    assert not is_code("udunits", "days since epoch")
    assert is_code("udunits", "days since 1970-01-01")


def test_a_refused_udunit_prints_nothing(capfd: pytest.CaptureFixture[str]):
    assert not is_code("udunits", "m^256")
    assert not is_code("udunits", "1e-999 m")
    assert capfd.readouterr() == ("", "")


def test_libraries_of_units_are_loaded_only_when_a_unit_is_declared():
    program = (
        "import sys; import beamkeep.schemas; "
        "print({'cf_units', 'numpy', 'beamkeep.schemas.qudt'} & {*sys.modules})"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "set()"
