"""What a request of the LiteLLM proxy asks for, and what its answer says."""

from __future__ import annotations

from typing import Any

from .sealing import text_of

DEFAULT_OUTPUT_TOKENS = 1_024
CHARACTERS_OF_A_TOKEN = 3
MARK = "runseal_permit_id"
MAX_TOKENS = 2**53 - 1
# Members by which a request brings models or rules of its own. For fallbacks there is a permit each.
_OTHER_MODELS = ("router_settings_override", "user_config")
_OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "max_tokens_to_sample")
# What the proxy adds to a request; all else is the caller's, and is sealed and scanned.
_ASKS_FOR_USAGE = "_litellm_strip_stream_usage"
_OF_THE_PROXY = (
    _ASKS_FOR_USAGE,
    "model",
    "proxy_server_request",
    "secret_fields",
    "litellm_call_id",
    "litellm_logging_obj",
)


def _metadata_name(data: dict[str, Any]) -> str:
    return "litellm_metadata" if isinstance(data.get("litellm_metadata"), dict) else "metadata"


def metadata_of(data: dict[str, Any]) -> dict[str, Any]:
    """What the proxy keeps beside a request until it has ended."""
    held = data.setdefault(_metadata_name(data), {})
    return held if isinstance(held, dict) else {}


def names_one_model(data: dict[str, Any]) -> bool:
    """Whether its caller asks for one model first, by the rules of the proxy."""
    sent = (data.get("proxy_server_request") or {}).get("body")
    asked = sent if isinstance(sent, dict) else data
    return "," not in str(data.get("model", "")) and not any(asked.get(name) for name in _OTHER_MODELS)


def arguments_of(data: dict[str, Any]) -> dict[str, Any]:
    """What the caller asks of the model."""
    hidden = {*_OF_THE_PROXY, _metadata_name(data)}
    asked = {name: value for name, value in data.items() if name not in hidden}
    if data.get(_ASKS_FOR_USAGE) is True:
        # The proxy asks for the tokens of a stream whose caller did not.
        options = {name: value for name, value in asked.pop("stream_options", {}).items() if name != "include_usage"}
        asked |= {"stream_options": options} if options else {}
    return asked


def _largest(data: Any, names: tuple[str, ...]) -> int:
    """The largest of these members that is a number above 0; 0 without one."""
    values = [data.get(name) for name in names] if isinstance(data, dict) else []
    numbers = [each for each in values if isinstance(each, (int, float)) and not isinstance(each, bool)]
    return int(max((each for each in numbers if 0 < each <= MAX_TOKENS), default=0))


def reserve_of(data: dict[str, Any], arguments: dict[str, Any]) -> int:
    """Tokens that the call may use: of each answer the largest limit that the caller gives, and those of the request."""
    config = data.get("generationConfig") or data.get("config")
    output = max(_largest(data, _OUTPUT_LIMITS), _largest(config, ("maxOutputTokens", "max_output_tokens")))
    answers = max(_largest(data, ("n", "best_of")), _largest(config, ("candidateCount", "candidate_count")), 1)
    asked = len(text_of(arguments)) // CHARACTERS_OF_A_TOKEN
    return min((output or DEFAULT_OUTPUT_TOKENS) * answers + asked, MAX_TOKENS)


def plain_answer(value: Any) -> Any:
    """An answer of a model, or a part of one, as its JSON."""
    return value.model_dump(mode="json", exclude_none=True) if hasattr(value, "model_dump") else value


def usage_of(value: Any) -> Any:
    """What an answer, or the last part of one, says of the tokens that were used."""
    answer = plain_answer(value)
    return answer.get("usage") if isinstance(answer, dict) else None


def alias_of(model: str) -> str:
    """The model that the proxy asks where a request names this one."""
    from litellm.proxy import proxy_server

    aliases = getattr(proxy_server.llm_router, "model_group_alias", None) or {}
    found = aliases.get(model, model)
    return str(found.get("model", model)) if isinstance(found, dict) else str(found)


def provider_of(model: str) -> str | None:
    """Who runs a model of the proxy, where all its deployments are of one provider."""
    from litellm import get_llm_provider
    from litellm.proxy import proxy_server

    router = proxy_server.llm_router
    deployments = (router.get_model_list(model_name=model) if router is not None else None) or []
    names = {each["litellm_params"]["model"]: each["litellm_params"].get("custom_llm_provider") for each in deployments}
    try:
        providers = {provider or get_llm_provider(name)[1] for name, provider in (names or {model: None}).items()}
    except Exception:  # A name that LiteLLM does not place.
        return None
    return providers.pop() if len(providers) == 1 else None
