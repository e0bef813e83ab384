"""The classes of the messages stay in memory."""

import gc
import weakref

from keras_transformer.serving import messages


class MessageClassesTest:
    def test_no_class_is_freed_once_it_has_no_message(self):
        # With protobuf 7, a thread can receive a class that is being freed, and
        # its next use of the class ends the process.
        request = messages.PredictRequest()
        parts = [
            request.model_spec,
            request.model_spec.version,
            request.inputs["text"],
            request.inputs["text"].tensor_shape.dim.add(),
            messages.GetModelMetadataResponse().metadata["signature_def"],
        ]
        classes = [weakref.ref(type(part)) for part in parts]
        del request, parts
        gc.collect()
        assert None not in [reference() for reference in classes]
