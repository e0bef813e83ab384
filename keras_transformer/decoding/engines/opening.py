"""Opens the engine of a model in any format."""

from keras_transformer.decoding import exported


def open_engine(
    path, step=None, precision="float32", engine="auto", request=None
):
    """Opens the engine of a model or an ensemble, see `Translator.load`.

    `request` is that of `choose_engine`.
    """
    paths = exported.list_directories(path)
    # Imported here because each needs packages that the others do without.
    format = exported.find_format(paths)
    if format == "ctranslate2":
        from keras_transformer.decoding.engines import ctranslate2

        return ctranslate2.CTranslate2Engine(paths[0])
    if format == "saved_model":
        from keras_transformer.decoding.engines import saved_model

        return saved_model.SavedModelEngine(paths[0])
    from keras_transformer.decoding.engines import automatic

    return automatic.open_run_engine(paths, step, precision, engine, request)
