"""A graph of ONNX that is written one operation after another."""

import numpy as np
import onnx
from onnx import helper
from onnx import numpy_helper

from keras_transformer.formats.exported import quantize

# Old enough for runtimes of browsers and phones, but with normalisations.
OPSET = 17
IR_VERSION = 8
ZERO = 128  # the unsigned byte that stands for the weight 0
FLOAT = onnx.TensorProto.FLOAT


class Graph:
    """Collects operations and the weights that they read.

    `arrays` are the weights by their names. With `quantizes`, matrices are
    stored in 8 bits with a scale for each row of `(outputs, inputs)`, and a
    product also rounds its input to 8 bits. The bytes are unsigned, since
    processors without VNNI overflow in other products of 8 bits.
    """

    def __init__(self, arrays, quantizes=False):
        self.arrays = arrays
        self.quantizes = quantizes
        self._nodes, self._constants = [], {}
        self._inputs, self._outputs = [], []

    def add_input(self, name, kind, axes):
        """Adds an input; returns its name. An axis of any length is a text."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, axes))
        return name

    def add_output(self, name, tensor, axes):
        """Makes a tensor of float32 an output of the graph."""
        self._nodes.append(helper.make_node("Identity", [tensor], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, FLOAT, axes))

    def add(self, operation, *inputs, outputs=1, **attributes):
        """Adds an operation; returns its output, or a list of several.

        The inputs are names, or else values to make constants of.
        """
        names = [
            each if isinstance(each, str) else self._add_constant(each)
            for each in inputs
        ]
        results = [f"t{len(self._nodes)}_{i}" for i in range(outputs)]
        node = helper.make_node(operation, names, results, **attributes)
        self._nodes.append(node)
        return results[0] if outputs == 1 else results

    def weight(self, name):
        """Returns a weight in float32."""
        return self._store(name, self.arrays[name].astype("float32"))

    def gather(self, name, ids):
        """Returns the rows of a matrix that ids name."""
        if not self.quantizes:
            return self.add("Gather", self.weight(name), ids)
        matrix, scales = self._quantize(name, transposed=False)
        rows = self.add("Cast", self.add("Gather", matrix, ids), to=FLOAT)
        rows = self.add("Sub", rows, float(ZERO))
        scales = self.add("Unsqueeze", self.add("Gather", scales, ids), [-1])
        return self.add("Mul", rows, scales)

    def multiply(self, x, name, transposed=True):
        """Multiplies vectors by a kernel `(inputs, outputs)`.

        Without `transposed` the kernel is `(outputs, inputs)`, as embeddings
        are that also project to logits.
        """
        if self.quantizes:
            return self._multiply_in_bytes(x, name, transposed)
        kernel = self.weight(name)
        if not transposed:
            kernel = self.add("Transpose", kernel, perm=[1, 0])
        return self.add("MatMul", x, kernel)

    def _multiply_in_bytes(self, x, name, transposed):
        matrix, scales = self._quantize(name, transposed)
        matrix = self.add("Transpose", matrix, perm=[1, 0])
        x, scale, zero = self.add("DynamicQuantizeLinear", x, outputs=3)
        product = self.add("MatMulInteger", x, matrix, zero, np.uint8(ZERO))
        product = self.add("Cast", product, to=FLOAT)
        return self.add("Mul", product, self.add("Mul", scale, scales))

    def _quantize(self, name, transposed):
        """Stores a matrix in 8 bits; returns its bytes and its scales."""
        array = self.arrays[name].astype("float32")
        # (outputs, inputs)
        rows, scales = quantize(array.T if transposed else array)
        rows = (rows.astype("int16") + ZERO).astype("uint8")
        matrix = self._store(f"{name}/bytes", rows)
        return matrix, self._store(f"{name}/scales", scales[:, 0])

    def _store(self, name, array):
        if name not in self._constants:
            array = np.ascontiguousarray(array)
            self._constants[name] = numpy_helper.from_array(array, name)
        return name

    def _add_constant(self, value):
        array = np.asarray(value)
        if array.dtype == "float64":
            array = array.astype("float32")
        name = f"c{array.dtype}{list(array.shape)}{array.tobytes().hex()}"
        return self._store(name, array)

    def make_model(self):
        """Returns the `ModelProto`."""
        graph = helper.make_graph(
            *(self._nodes, "model", self._inputs, self._outputs),
            list(self._constants.values()),
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            producer_name="keras_transformer",
            ir_version=IR_VERSION,
        )
        onnx.checker.check_model(model)
        return model
