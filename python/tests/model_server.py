"""An OpenAI-compatible model server, for tests: it counts its calls, and answers by what the last message says."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}


class ModelServer(ThreadingHTTPServer):
    """What was asked so far is in `calls`."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        """Base URL of the API."""
        return f"http://127.0.0.1:{self.server_port}/v1"


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    tools, messages = asked.get("tools") or [], asked["messages"]
    message: dict[str, Any] = {"role": "assistant", "content": "Done."}
    if tools and messages[-1]["role"] != "tool":
        name = tools[0]["function"]["name"]
        call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": '{"number": 4}'}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    reason = "tool_calls" if message["content"] is None else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": asked["model"],
        "choices": [choice],
        "usage": USAGE,
    }


def _response(model: str) -> dict[str, Any]:
    """An answer of the Responses API."""
    content = {"type": "output_text", "text": "Done.", "annotations": []}
    message = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [content]}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": model,
        "output": [message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": USAGE["prompt_tokens"],
            "output_tokens": USAGE["completion_tokens"],
            "total_tokens": USAGE["total_tokens"],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *values: object) -> None:
        """Prints nothing."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        assert isinstance(server, ModelServer)
        server.calls.append(asked)
        text = json.dumps(asked.get("messages") or asked["input"])
        if "slow" in text:
            time.sleep(1)
        if "break" in text:
            self._send(500, b'{"error": {"message": "broken", "type": "server_error"}}', "application/json")
        elif self.path.endswith("/responses"):
            response = _response(asked["model"])
            event = {"type": "response.completed", "sequence_number": 0, "response": response}
            if asked.get("stream"):
                self._send(
                    200, f"event: response.completed\ndata: {json.dumps(event)}\n\n".encode(), "text/event-stream"
                )
            else:
                self._send(200, json.dumps(response).encode(), "application/json")
        elif asked.get("stream"):
            counted = (asked.get("stream_options") or {}).get("include_usage") is True
            self._send(200, _stream(asked["model"], counted), "text/event-stream")
        else:
            self._send(200, json.dumps(_answer(asked)).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _stream(model: str, counted: bool) -> bytes:
    """Says the tokens only where the request asks for them, as OpenAI does."""
    common = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "Do"}, {"content": "ne."}, {}]
    chunks: list[dict[str, Any]] = [
        {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}]}
        for delta in deltas
    ]
    if counted:
        chunks.append({**common, "choices": [], "usage": USAGE})
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode() + b"data: [DONE]\n\n"


@contextmanager
def running_model() -> Iterator[ModelServer]:
    """A model server that ends with the block."""
    server = ModelServer()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
