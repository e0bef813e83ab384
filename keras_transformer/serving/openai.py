"""The part of OpenAI's REST interface that translates a message.

The model has the name of its pair, such as en-es, and translates the last
message of the user. Whatever it cannot do is refused by name.
"""

import time

from keras_transformer.serving.asgi import Endpoint
from keras_transformer.serving.asgi import Response
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.forms import check_texts
from keras_transformer.serving.json_tensors import dump

MODELS = "/v1/models"
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


class OpenAI:
    """Answers requests of OpenAI's protocol with a `TextTranslator`."""

    def __init__(self, translator):
        self._translator = translator
        self._pairs = {
            f"{source}-{target}": translator.pairs.find(source, target)
            for source, targets in translator.pairs.targets.items()
            for target in targets
        }
        self.endpoints = {
            "/v1/chat/completions": Endpoint("openai", "POST", self._complete),
            MODELS: Endpoint("openai", "GET", self._list_models),
        }

    def _list_models(self):
        model = {"object": "model", "created": 0}
        model["owned_by"] = "keras_transformer"
        models = [{"id": name, **model} for name in self._pairs]
        return {"object": "list", "data": models}

    def _complete(self, request, address):
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
        (found,) = self._translator.translate([text], "text", languages)
        content = found.texts[0]
        is_stream = bool(request.get("stream"))
        message = {"role": "assistant", "content": content}
        field = "delta" if is_stream else "message"
        choices = [{"index": 0, field: message, "finish_reason": "stop"}]
        if is_stream:  # the translation is one piece
            end = {"index": 0, "delta": {}, "finish_reason": "stop"}
            choices = [{**choices[0], "finish_reason": None}, end]
        now = time.time()
        head = {
            "id": f"chatcmpl-{now:.6f}",
            "object": f"chat.completion{'.chunk' if is_stream else ''}",
            "created": int(now),
            "model": model,
        }
        if not is_stream:
            return {**head, "choices": choices}
        events = [dump({**head, "choices": [choice]}) for choice in choices]
        lines = [b"data: %s\n\n" % event for event in [*events, b"[DONE]"]]
        return Response(b"".join(lines), "text/event-stream")


def format_error(error):
    """Returns the body of a response that reports an error."""
    is_ours = error.http_status >= 500
    description = {
        "message": str(error),
        "type": "server_error" if is_ours else "invalid_request_error",
        "param": None,
        "code": "invalid_api_key" if error.http_status == 401 else None,
    }
    return dump({"error": description})


def _find_text(messages):
    """Returns the text of the last message of a user."""
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and message.get("role") == "user":
            content = message.get("content")
            parts = (
                content if isinstance(content, list) else [{"text": content}]
            )
            texts = [isinstance(p, dict) and p.get("text") for p in parts]
            if all(isinstance(text, str) for text in texts):
                return "".join(texts)
            break
    raise InvalidRequest(
        "`messages` must hold a message of the user with a text to translate. "
        f"Received: messages={messages!r:.60}. Send "
        '[{"role": "user", "content": "A text."}].'
    )
