"""Strict JSON and RFC 8785."""

import time

import pytest

from runseal_verify.json_text import Unreadable, canonical, parse

REFUSED = [
    *('{"a":1,"a":2}', '{"a":1}{}', "\ufeff{}", "[1e400]", "[0.1000000000000000055]", "[9007199254740992]", "[-0]"),
    *("[-0.0]", "[NaN]", "[01]", "[1.]", "['a']", '["\\ud800"]', '["\\u0000"]', '{"\\u0000":1}', '["\t"]', "[1,]"),
    *(
        "[1e-99999999999999999999]",
        "[1e99999999999999999999]",
        "[4.9406564584124654e-324]",
        "[-0e99999999999999999999]",
    ),
    "[" * 67 + "]" * 67,
    "[" + "0," * 524_288 + "0]",
]


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text.encode())


def test_a_text_without_its_end_is_read_once() -> None:
    began = time.monotonic()
    for part in ('\\"', "\\", "a", "\\\\"):
        with pytest.raises(Unreadable):
            parse(('["' + part * 300_000).encode())
    # Read again from each quote it would take hours.
    assert time.monotonic() - began < 20


def test_invalid_utf8_is_refused() -> None:
    with pytest.raises(Unreadable):
        parse(b'["\xff"]')


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("[1.0,1e2,100]", "[1,100,100]"),
        ("[0.000001,1e-7,123456789012.5]", "[0.000001,1e-7,123456789012.5]"),
        (f"[1.{'0' * 2000},1e{'0' * 5000}2,{'0.' + '0' * 2000}1e2001]", "[1,100,1]"),
        ("[0e99999999999999999999,0e-99999999999999999999]", "[0,0]"),
        ("1e-7", "1e-7"),
        ('{"a":{"b":1e-7,"c":[-1e-7,"1.5",2,",1.5"]}}', '{"a":{"b":1e-7,"c":[-1e-7,"1.5",2,",1.5"]}}'),
        ('{"\U0001f600":{"b":"1.0.0","a":2},"\ufb33":4}', '{"\U0001f600":{"a":2,"b":"1.0.0"},"\ufb33":4}'),
        ("[5e-324,1.7976931348623157e-300]", "[5e-324,1.7976931348623157e-300]"),
        ('{"\\u20ac":1,"\\r":2,"\\ud83d\\ude00":3,"\\ufb33":4}', '{"\\r":2,"\u20ac":1,"\U0001f600":3,"\ufb33":4}'),
        ('["\\u001f\\/\\"\\\\\\u007f"]', '["\\u001f/\\"\\\\\x7f"]'),
    ],
)
def test_form(text: str, form: str) -> None:
    assert canonical(parse(text.encode())) == form
