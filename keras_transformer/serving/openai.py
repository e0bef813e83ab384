"""The part of OpenAI's REST interface that translates a message.

The model has the name of its pair, such as en-es, and translates the last
message of the user. Whatever it cannot do is refused by name.
"""

import json
import time

from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.forms import read_fields
from keras_transformer.serving.libretranslate import check_texts

MODELS = "/v1/models"
COMPLETIONS = "/v1/chat/completions"
PATHS = (MODELS, COMPLETIONS)
# What clients send, and what a translation does not depend on.
_IGNORED = {
    *("temperature", "top_p", "seed", "user", "stop", "stream_options"),
    *("max_tokens", "max_completion_tokens", "reasoning_effort", "store"),
    *("frequency_penalty", "presence_penalty", "metadata"),
}
# Values that ask for what is done anyway.
_HARMLESS = {
    "n": [1],
    "stream": [True],
    "response_format": [{"type": "text"}],
    "modalities": [["text"]],
    "tool_choice": ["none", "auto"],
}


class EventStream(bytes):
    """A response that is a stream of events."""

    content_type = "text/event-stream"


class OpenAI:
    """Answers requests of OpenAI's protocol with a `LibreTranslate`."""

    def __init__(self, translator):
        self._translator = translator
        self._pairs = {
            f"{source}-{target}": translator.pairs.find(source, target)
            for source, targets in translator.pairs.targets.items()
            for target in targets
        }
        self.readers = {COMPLETIONS: self._complete}

    def list_models(self):
        models = [
            {
                "id": name,
                "object": "model",
                "created": 0,
                "owned_by": "keras_transformer",
            }
            for name in self._pairs
        ]
        return {"object": "list", "data": models}

    def _complete(self, content_type, address, body):
        """Reads POST /v1/chat/completions, as `RestApp` asks."""
        request = read_fields("application/json", body)
        model = request.get("model")
        languages = isinstance(model, str) and self._pairs.get(model)
        if not languages:
            names = ", ".join(self._pairs)
            raise RequestError(
                "NOT_FOUND",
                f"`model` must be one of {names:.200}. Received: "
                f"model={model!r:.40}. GET {MODELS} lists them all.",
            )
        for name in sorted(request.keys() - _IGNORED - {"model", "messages"}):
            value = request[name]
            if value and value not in _HARMLESS.get(name, ()):
                raise InvalidRequest(
                    f"`{name:.40}` must be left out, since this model only "
                    f"translates. Received: {value!r:.40}. Remove it."
                )
        text = _find_text(request.get("messages"))

        check_texts([text], "text")
        (found,) = yield from self._translator.translate(
            [text], "text", languages
        )
        content = found.texts[0]
        if request.get("stream"):
            return self._stream(model, content)
        message = {"role": "assistant", "content": content}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return _dump(_describe(model, "chat.completion", choice)).encode()

    def _stream(self, model, content):
        """Returns the events of a translation, which is one piece."""
        delta = {"role": "assistant", "content": content}
        events = [
            _dump(_describe(model, "chat.completion.chunk", choice))
            for choice in (
                {"index": 0, "delta": delta, "finish_reason": None},
                {"index": 0, "delta": {}, "finish_reason": "stop"},
            )
        ]
        lines = [f"data: {event}\n\n" for event in [*events, "[DONE]"]]
        return EventStream("".join(lines).encode())


def _describe(model, kind, choice):
    now = time.time()
    return {
        "id": f"chatcmpl-{now:.6f}",
        "object": kind,
        "created": int(now),
        "model": model,
        "choices": [choice],
    }


def format_error(error):
    """Returns the body of a response that reports an error."""
    is_ours = error.http_status >= 500
    description = {
        "message": str(error),
        "type": "server_error" if is_ours else "invalid_request_error",
        "param": None,
        "code": "invalid_api_key" if error.http_status == 401 else None,
    }
    return _dump({"error": description}).encode(errors="replace")


def _find_text(messages):
    """Returns the text of the last message of a user."""
    if isinstance(messages, list):
        for message in reversed(messages):
            if not isinstance(message, dict) or message.get("role") != "user":
                continue
            content = message.get("content")
            if isinstance(content, list):  # of parts
                parts = [p.get("text") for p in content if isinstance(p, dict)]
                is_text = len(parts) == len(content) and all(
                    isinstance(part, str) for part in parts
                )
                content = "".join(parts) if is_text else None
            if isinstance(content, str):
                return content
            break
    raise InvalidRequest(
        "`messages` must hold a message of the user with a text to translate. "
        f"Received: messages={messages!r:.60}. Send "
        '[{"role": "user", "content": "A text."}].'
    )


def _dump(value):
    return json.dumps(value, ensure_ascii=False)
