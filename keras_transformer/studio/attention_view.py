"""The page of kt-attention as a part of the page, with weights on demand."""

from keras_transformer.studio.models import Frame
from keras_transformer.studio.models import clean_text
from keras_transformer.visualization.attention_page import attention_page
from keras_transformer.visualization.attention_page import pack_layer


def show_attention(
    studio, text: str, target: str = "", run: int = 0, step: int = 0
):
    """Makes the page of the attention to a sentence, and returns its `frame`.

    The attention belongs to the model's translation, or to a `target`, a tree
    in brackets for a parsing run. The `frame` is the name of a `Frame` whose
    parts are layers, such as "cross/1". Without a sentence it is None.
    """
    attention, title = _attend(studio, text, target, run, step)
    if attention is None:
        return {"frame": None}

    def read_layer(name):
        kind, number = name.split("/")
        # `int` would also take spaces, signs and digits of other scripts.
        if number != str(int(number)):
            raise ValueError(number)
        return pack_layer(attention, kind, int(number))

    page = attention_page(attention, title, on_demand=True)
    return {"frame": studio.add_frame(Frame(page, read_layer))}


def save_attention(
    studio, text: str, target: str = "", run: int = 0, step: int = 0
):
    """Returns the page with all weights in it, which needs no server."""
    attention, title = _attend(studio, text, target, run, step)
    return {"html": attention and attention_page(attention, title)}


def _attend(studio, text, target, run, step):
    """Returns the `Attention` and a title; both None without a sentence."""
    model = studio.get_model(run, step)
    text = clean_text(model.exact, text)
    source = model.exact.encode([text])
    if source == [[]]:
        return None, None
    target = clean_text(model.exact, target, is_target=True)
    if target:
        (ids,) = model.exact.encode([target], of_targets=True)
    else:
        ((best, *_),) = model.fast.hypotheses([text])
        ids, target = best.ids, best.text
    (attention,) = model.exact.engine.attend(source, [ids])
    return attention, f"{text}\n→ {target}"
