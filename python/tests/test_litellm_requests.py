"""What the LiteLLM callback asks a permit for: all that the caller sent, and the most that it may use."""

from typing import Any

import pytest

from runseal_client.litellm_requests import arguments_of, names_one_model, reserve_of

PROXY: dict[str, Any] = {
    "proxy_server_request": {"body": {}},
    "secret_fields": {"raw_headers": {}},
    "litellm_call_id": "1",
}


def test_all_that_the_caller_sent_is_sealed_and_nothing_of_the_proxy() -> None:
    sent = {"messages": [], "system": "a", "functions": [], "user": "u", "extra_body": {"b": 1}, "unknown": 1}
    assert arguments_of({"model": "m", **sent, **PROXY, "metadata": {"user_api_key": "k"}}) == sent
    # Where the proxy keeps its own elsewhere, `metadata` is the caller's.
    beside = {**sent, "metadata": {"a": "b"}}
    assert arguments_of({"model": "m", **beside, **PROXY, "litellm_metadata": {"user_api_key": "k"}}) == beside


@pytest.mark.parametrize(
    ("asked", "output"),
    [
        ({}, 1_024),
        ({"max_tokens": 7}, 7),
        ({"max_tokens": 7, "max_completion_tokens": 5_000_000}, 5_000_000),
        ({"max_tokens": 900, "n": 5}, 4_500),
        ({"max_tokens": 900.0, "best_of": 2}, 1_800),
        ({"max_tokens": True}, 1_024),
        ({"max_tokens": -5_000}, 1_024),
        ({"max_tokens": "many", "n": None}, 1_024),
        ({"generationConfig": {"maxOutputTokens": 8, "candidateCount": 2}}, 16),
        ({"max_tokens": 2**53 - 1, "n": 9}, 2**53 - 1),
    ],
)
def test_the_largest_limit_of_every_answer_is_reserved(asked: dict[str, Any], output: int) -> None:
    assert reserve_of(asked, {}) == output
    assert reserve_of(asked, {"messages": "x" * 300}) in (output + 105, 2**53 - 1)


@pytest.mark.parametrize(
    ("asked", "one"),
    [
        ({"model": "a"}, True),
        ({"model": "a", "fallbacks": []}, True),
        ({"model": "a, b"}, False),
        ({"model": "a", "fallbacks": ["b"]}, True),
        ({"model": "a", "context_window_fallbacks": [{"a": ["b"]}]}, True),
        ({"model": "a", "user_config": {"model_list": [{"model_name": "b"}]}}, False),
        ({"model": "a", "router_settings_override": {"fallbacks": [{"a": ["b"]}]}}, False),
    ],
)
def test_a_request_names_one_model(asked: dict[str, Any], one: bool) -> None:
    assert names_one_model(asked) is one
    # What the proxy adds by its own configuration is its operator's.
    added = {**asked, "router_settings_override": {"fallbacks": [{"a": ["b"]}]}}
    assert names_one_model({**added, "proxy_server_request": {"body": asked}}) is one
