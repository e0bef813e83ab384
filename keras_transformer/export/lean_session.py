"""Runs the signatures of a SavedModel, ready as soon as it can be."""

import os

SAVED_MODEL = "saved_model.pb"


class LeanSession:
    """The signatures of an exported model, loaded one by one.

    For a first answer soon after the start of the process.
    `tf.saved_model.load` makes Python objects of every operation of every
    signature; here what is wanted is cut out of the graph and goes to
    TensorFlow as it is, without optimisations, which take longer than they
    save. The results are the same.

    Args:
        path: directory of a SavedModel.
        names: signatures to load at once; others are when they are called.

    Raises:
        ValueError: if it cannot be read, or tensorflow-text is not there.
    """

    def __init__(self, path, names):
        self.path = path
        # Late, for it takes seconds.
        from keras_transformer.export.lean_tensorflow import tf

        self._tf = tf
        self._model = self._read()
        self._nodes = _by_name(self._model.graph_def.node)
        self._functions = {
            function.signature.name: function
            for function in self._model.graph_def.library.function
        }
        self._graph = self._tf.Graph()
        self._options = self._light_options()
        self._session = self._tf.compat.v1.Session(
            graph=self._graph, config=self._options
        )
        self._scopes = {}  # of the signatures that are loaded
        self._load(names)
        self._restore()

    def __call__(self, name, **inputs):
        """Calls a signature.

        Args:
            name: of the signature.
            **inputs: by name, arrays or lists.

        Returns:
            dictionary of name to array.
        """
        signature = self._model.signature_def[name]
        if name not in self._scopes:
            self._load([name])
        scope = self._scopes[name]
        fed = {
            scope + signature.inputs[key].name: value
            for key, value in inputs.items()
        }
        fetched = {
            key: scope + tensor.name
            for key, tensor in signature.outputs.items()
        }
        return self._session.run(fetched, fed)

    def _read(self):
        from google.protobuf.message import DecodeError
        from tensorflow.core.protobuf import saved_model_pb2

        model = saved_model_pb2.SavedModel()
        try:
            with open(os.path.join(self.path, SAVED_MODEL), "rb") as file:
                model.ParseFromString(file.read())
        except DecodeError as error:
            raise _damaged(self.path, SAVED_MODEL, error) from error
        return model.meta_graphs[0]

    def _load(self, names):
        """Brings the part of the graph that signatures need."""
        wanted = [
            _node(tensor.name)
            for name in names
            for tensor in self._model.signature_def[name].outputs.values()
        ]
        if not self._scopes:
            wanted.append(_node(self._model.saver_def.restore_op_name))
        part = self._part(wanted)
        scope = names[0]
        with self._graph.as_default():
            self._tf.graph_util.import_graph_def(part, name=scope)
        self._scopes.update(dict.fromkeys(names, f"{scope}/"))

    def _restore(self):
        saver = self._model.saver_def
        (scope,) = set(self._scopes.values())
        path = os.path.join(self.path, "variables", "variables")
        try:
            self._session.run(
                scope + saver.restore_op_name,
                {scope + saver.filename_tensor_name: path},
            )
        except self._tf.errors.OpError as error:
            raise _damaged(self.path, "variables", error.message) from error

    def _part(self, wanted):
        """The nodes, and all that they depend on, as a `GraphDef`."""
        graph = self._tf.compat.v1.GraphDef()
        graph.versions.CopyFrom(self._model.graph_def.versions)
        nodes = _reached(wanted, lambda name: _inputs(self._nodes[name]))
        graph.node.extend(self._nodes[name] for name in nodes)
        called = _called(graph.node, self._functions)
        graph.library.function.extend(
            self._functions[name]
            for name in _reached(
                called,
                lambda name: _called(
                    self._functions[name].node_def, self._functions
                ),
            )
        )
        options = self._options.SerializeToString()
        for nodes in (
            graph.node,
            *(f.node_def for f in graph.library.function),
        ):
            for node in nodes:
                if "config_proto" in node.attr:
                    node.attr["config_proto"].s = options
        return graph

    def _light_options(self):
        options = self._tf.compat.v1.ConfigProto()
        # They take a second each, and this graph is no slower without.
        options.graph_options.rewrite_options.disable_meta_optimizer = True
        return options


def _reached(names, next_names):
    """All names that can be reached from these."""
    reached = set()
    names = list(names)
    while names:
        name = names.pop()
        if name not in reached:
            reached.add(name)
            names += next_names(name)
    return reached


def _called(nodes, functions):
    """Names of the functions that nodes call."""
    return {
        function.name
        for node in nodes
        for value in node.attr.values()
        for function in (value.func, *value.list.func)
        if function.name in functions
    }


def _by_name(nodes):
    return {node.name: node for node in nodes}


def _inputs(node):
    return map(_node, node.input)


def _node(tensor):
    return tensor.removeprefix("^").split(":")[0]


def _damaged(path, file, error):
    return ValueError(
        "A SavedModel must be whole. Received: "
        f"{os.path.join(path, file)} ({error}). Export the run again."
    )
