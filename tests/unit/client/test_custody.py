"""What the command line writes about custody."""

import pytest

from beamkeep_client.tools.custody import csv_cell


@pytest.mark.parametrize(
    "text", ["=1+2", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", '=HYPERLINK("http://x")']
)
def test_a_spreadsheet_computes_no_text_of_a_report(text: str):
    assert csv_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["Needed", "file:///data/a=b", "", -5, None])
def test_every_other_value_of_a_report_stays_as_it_is(value: object):
    assert csv_cell(value) == value
