"""The real LiteLLM proxy with eight workers, a model server and a service: calls counted against records."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from gate import gate, said
from model_server import ModelServer, running_model
from places import NODE
from service import UNLIMITED, Service, free_port, running_service

pytestmark = pytest.mark.skipif(
    not NODE.exists() or importlib.util.find_spec("litellm") is None,
    reason="needs the service (npm ci) and the extra litellm",
)

WORKERS = 8
MASTER_KEY = "sk-" + "5a0c71d2e93b46f8" * 4
EICAR = r"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"


class Proxy:
    """A running proxy."""

    def __init__(self, process: subprocess.Popen[bytes], url: str) -> None:
        self.process, self.url = process, url

    def ask(self, text: str, **more: object) -> httpx.Response | None:
        """The proxy's answer, or None when the connection broke."""
        body = {"model": "m-1", "messages": [{"role": "user", "content": text}], **more}
        try:
            return httpx.post(
                f"{self.url}/v1/chat/completions",
                json=body,
                headers={"Authorization": f"Bearer {MASTER_KEY}"},
                timeout=120,
            )
        except httpx.HTTPError:
            return None

    def workers(self) -> list[int]:
        """Processes of its workers."""
        found: list[int] = []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, ValueError):
                session = int((place / "stat").read_text().rpartition(")")[2].split()[3])
                if session == self.process.pid and b"spawn_main" in (place / "cmdline").read_bytes():
                    found.append(int(place.name))
        return found


@contextmanager
def running_proxy(
    folder: Path, service_url: str, model: ModelServer, workers: int, more_models: str = "", **more: str
) -> Iterator[Proxy]:
    """The proxy, as its users start it."""
    (folder / "config.yaml").write_text(
        f"""model_list:
  - model_name: m-1
    litellm_params:
      model: openai/m-1
      api_base: {model.url}
      api_key: none
{more_models}litellm_settings:
  callbacks: ["runseal_client.litellm.handler"]
  num_retries: 0
"""
    )
    port = free_port()
    command = [str(Path(sys.executable).parent / "litellm"), "--config", "config.yaml", "--host", "127.0.0.1"]
    environment = {
        **os.environ,
        "RUNSEAL_URL": service_url,
        "RUNSEAL_SPOOL_DIR": str(folder / "spool"),
        "LITELLM_MASTER_KEY": MASTER_KEY,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "DISABLE_SCHEMA_UPDATE": "True",
        **more,
    }
    log = (folder / "proxy.log").open("ab")
    process = subprocess.Popen(
        [*command, "--port", str(port), "--num_workers", str(workers), "--timeout_worker_healthcheck", "180"],
        stdout=log,
        stderr=log,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    proxy = Proxy(process, f"http://127.0.0.1:{port}")
    try:
        end = time.monotonic() + 480
        while time.monotonic() < end and process.poll() is None:
            with suppress(httpx.HTTPError):
                if httpx.get(f"{proxy.url}/health/liveliness", timeout=5).is_success:
                    break
            time.sleep(0.5)
        else:
            raise RuntimeError((folder / "proxy.log").read_text()[-3000:])
        yield proxy
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


def settled(service: Service, path: str, wanted: int, seconds: float = 60) -> int:
    """The total of a list, once it is what is wanted or the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and service.count(path) != wanted:
        time.sleep(0.5)
    return service.count(path)


def test_every_call_has_its_record(tmp_path: Path) -> None:
    with (
        running_service(tmp_path, *UNLIMITED) as service,
        running_model() as model,
        running_proxy(tmp_path, service.url, model, WORKERS) as proxy,
        ThreadPoolExecutor(16) as pool,
    ):
        answers = list(pool.map(proxy.ask, [f"question {at}" for at in range(40)]))
        assert all(answer is not None and answer.status_code == 200 for answer in answers)
        assert len(model.calls) == 40
        assert settled(service, "/runs/search?status=ok", 40) == 40

        streams = list(pool.map(lambda at: proxy.ask(f"stream {at}", stream=True), range(8)))
        assert all(answer is not None and "[DONE]" in answer.text for answer in streams)
        assert settled(service, "/runs/search?status=ok", 48) == 48

        broken = proxy.ask("break")
        assert broken is not None and broken.status_code == 500
        assert settled(service, "/runs", 49) == 49
        assert service.get("/runs?limit=1")["runs"][0]["closing_outcome"] == "failed"

        calls = len(model.calls)
        refused = proxy.ask(EICAR)
        assert refused is not None and refused.status_code == 403
        over = proxy.ask("much", max_tokens=5_000_000)
        assert over is not None and over.status_code == 403
        hidden: list[dict[str, object]] = [
            {"functions": [{"name": "f", "description": EICAR, "parameters": {}}]},
            {"extra_body": {"other": EICAR}},
            {"seed": 2**60, "user": EICAR},
            {"messages": [{"role": "user", "content": f"\0 {EICAR}"}]},
        ]
        limits: list[dict[str, object]] = [
            {"max_tokens": 5, "max_completion_tokens": 5_000_000},
            {"max_tokens": 900_000, "n": 5},
        ]
        for more in ({"model": "m-1, m-1"}, {"router_settings_override": {"fallbacks": [{"m-1": ["m-1"]}]}}):
            several = proxy.ask("two", **more)
            assert several is not None and several.status_code == 400
        refusals = list(pool.map(lambda more: proxy.ask("more", **more), hidden + limits))
        assert [each.status_code if each is not None else 0 for each in refusals] == [403] * 6
        assert len(model.calls) == calls
        assert service.count("/runs/search?status=pepg_deny") == 1 + len(hidden)
        assert service.count("/runs/search?status=ccv_halt") == 1 + len(limits)
        assert service.count("/permits?state=open") == 0

        # A worker is killed with its requests under way: their permits stay open, and the service ends them.
        workers = proxy.workers()
        assert len(workers) == WORKERS
        before = service.count("/permits")
        under_way = [pool.submit(proxy.ask, f"slow {at}") for at in range(32)]
        time.sleep(0.7)
        os.kill(workers[0], signal.SIGKILL)
        answered = [future.result() for future in under_way]
        whole = sum(answer is not None and answer.status_code == 200 for answer in answered)
        opened = service.count("/permits") - before
        closed = settled(service, "/permits?state=open", opened - whole, 5)
        assert opened >= whole
        assert closed <= opened - whole
        assert len(model.calls) - calls <= opened


def test_fail_open_counts_what_was_not_sealed(tmp_path: Path) -> None:
    service = Service(tmp_path, *UNLIMITED)
    try:
        service.start()
        with (
            running_model() as model,
            running_proxy(tmp_path, service.url, model, 2, RUNSEAL_FAIL="open") as proxy,
        ):
            assert (proxy.ask("one") or httpx.Response(0)).status_code == 200
            assert service.count("/runs") == 1
            service.stop()
            for at in range(5):
                assert (proxy.ask(f"unsealed {at}") or httpx.Response(0)).status_code == 200
            assert len(list((tmp_path / "spool").glob("act-*.json"))) + _in_gaps(tmp_path) == 5
            service.start()
            # A service that cannot take a request is no outage: such a request is not let through, once the service is asked.
            end, unasked = time.monotonic() + 60, 0
            while (large := proxy.ask("x" * 1_100_000)) is not None and large.status_code == 200:
                unasked += 1
                assert time.monotonic() < end
                time.sleep(2)
            assert large is not None and large.status_code == 413
            assert settled(service, "/runs/search?route_id=litellm/gap", 1) >= 1
            end = time.monotonic() + 30
            while list((tmp_path / "spool").glob("*.json")) and time.monotonic() < end:
                time.sleep(0.5)
            assert not list((tmp_path / "spool").glob("*.json"))
            assert _sealed_gaps(service) == 5 + unasked
            assert len(model.calls) == 6 + unasked
    finally:
        service.stop()


@pytest.mark.parametrize(("mode", "fail"), [("enforce", "open"), ("observe", "closed")])
def test_calls_do_not_wait_for_a_silent_service(tmp_path: Path, mode: str, fail: str) -> None:
    more = {"RUNSEAL_MODE": mode, "RUNSEAL_FAIL": fail}
    with (
        gate() as silent,
        running_model() as model,
        running_proxy(tmp_path, silent.url, model, 1, **more) as proxy,
    ):
        silent.seconds = 600
        took = []
        for at in range(8):
            began = time.monotonic()
            assert (proxy.ask(f"unsealed {at}") or httpx.Response(0)).status_code == 200
            took.append(time.monotonic() - began)
        # Without a bound each waits for as long as a client does; a busy machine needs some seconds.
        assert max(took) < 10, took
        # Three calls ask, and then one each five seconds.
        if mode == "enforce":
            assert silent.asked.count("/permits") <= 4 + sum(took) / 5, took
        assert len(model.calls) == 8
    if mode == "enforce":
        assert len(list((tmp_path / "spool").glob("act-*.json"))) + _in_gaps(tmp_path) == 8


def test_fail_closed_makes_no_call(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with running_model() as model, running_proxy(tmp_path, url, model, 1) as proxy:
        assert (proxy.ask("one") or httpx.Response(0)).status_code == 503
        assert not model.calls


def test_a_model_that_was_asked_and_is_not_sealed_is_no_refusal(tmp_path: Path) -> None:
    with (
        running_service(tmp_path, *UNLIMITED) as service,
        gate(service.url) as lossy,
        running_model() as model,
        running_proxy(tmp_path, lossy.url, model, 1, RUNSEAL_FAIL="closed") as proxy,
    ):
        lossy.answers["/close"] = said("unavailable", 503)
        lossy.retry_after = "1"
        answer = proxy.ask("question") or httpx.Response(0)
        assert answer.status_code == 424
        assert "close_unconfirmed" in answer.text
        assert len(model.calls) == 1
        lossy.answers.clear()
        assert settled(service, "/permits?state=closed", 1) == 1


def test_a_service_that_is_busy_is_said_to_be_so_and_is_asked_all_the_same(tmp_path: Path) -> None:
    with (
        gate() as busy,
        running_model() as model,
        running_proxy(tmp_path, busy.url, model, 1, RUNSEAL_FAIL="closed") as proxy,
    ):
        busy.answers["/permits"] = said("rate_limited", 429)
        busy.retry_after = "7"
        for at in range(5):
            began = time.monotonic()
            answer = proxy.ask(f"question {at}") or httpx.Response(0)
            assert (answer.status_code, answer.headers.get("Retry-After")) == (429, "7")
            assert time.monotonic() - began < 3
        # The breaker refuses nothing by itself.
        assert busy.asked.count("/permits") == 5
        assert not model.calls


def _in_gaps(folder: Path) -> int:
    import json

    return sum(len(json.loads(each.read_text())["acts"]) for each in (folder / "spool").glob("gap-*.json"))


def _sealed_gaps(service: Service) -> int:
    total = 0
    for run in service.get("/runs/search?route_id=litellm/gap&limit=100")["runs"]:
        bundle = service.get(f"/runs/{run['id']}/artifacts")
        total += bundle["sections"]["reproducibility_context"]["declared"]["gap"]["unsealed"]
    return total


# A model that cannot be reached, and what the proxy asks then.
FALLBACKS = """  - model_name: m-away
    litellm_params:
      model: openai/m-away
      api_base: http://127.0.0.1:9
      api_key: none
  - model_name: m-barred
    litellm_params:
      model: openai/m-1
      api_base: {url}
      api_key: none
router_settings:
  fallbacks: [{{"m-away": ["m-barred", "m-1"]}}]
"""
BARRED = {
    "policy_id": "barred",
    "policy_name": "One model is barred",
    "required_attested_fields": [],
    "rules": [
        {"id": "all", "effect": "allow"},
        {"id": "barred", "effect": "deny", "when": 'context.bound.route_id == "litellm/m-barred"'},
    ],
}


def test_each_model_that_a_request_falls_back_to_has_a_permit(tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps(BARRED))
    with (
        running_service(tmp_path, *UNLIMITED, "--policy", str(policy)) as service,
        running_model() as model,
        running_proxy(tmp_path, service.url, model, 1, FALLBACKS.format(url=model.url)) as proxy,
    ):

        def sealed(name: str) -> list[tuple[str, str | None]]:
            runs = service.get(f"/runs/search?route_id=litellm/{name}")["runs"]
            return [(run["status"], run.get("closing_outcome")) for run in runs]

        answer = proxy.ask("one", model="m-away")
        assert answer is not None and answer.status_code == 200, answer and answer.text
        assert [each["model"] for each in model.calls] == ["m-1"]
        assert sealed("m-away") == [("ok", "failed")]
        assert sealed("m-barred") == [("pepg_deny", None)]
        assert sealed("m-1") == [("ok", "completed")]

        # The same of a fallback that the caller names; where none is left, no model is asked.
        named = proxy.ask("two", model="m-away", fallbacks=["m-1"])
        assert named is not None and named.status_code == 200, named and named.text
        refused = proxy.ask("three", model="m-away", fallbacks=["m-barred"])
        assert refused is not None and refused.status_code >= 400
        assert len(model.calls) == 2
        assert service.count("/permits?state=open") == 0


def test_models_that_are_only_observed_are_sealed_one_by_one(tmp_path: Path) -> None:
    with (
        running_service(tmp_path, *UNLIMITED, "--mode", "observe") as service,
        running_model() as model,
        running_proxy(
            tmp_path, service.url, model, 1, FALLBACKS.format(url=model.url), RUNSEAL_MODE="observe"
        ) as proxy,
    ):
        answer = proxy.ask("one", model="m-away", fallbacks=["m-1"])
        assert answer is not None and answer.status_code == 200, answer and answer.text
        assert settled(service, "/runs/search?enforcement=observe", 2) == 2
        runs = service.get("/runs/search?enforcement=observe")["runs"]
        found = {(run["route_id"], run["closing_outcome"]) for run in runs}
        assert found == {("litellm/m-away", "failed"), ("litellm/m-1", "completed")}
