# A server on the processor. Build it, and serve an export (docs/serving.md):
#   docker build --tag keras-t2t .
#   docker run --rm --publish 8501:8501 --volume "$PWD/export:/export:ro" keras-t2t
FROM python:3.13-slim
COPY . /tmp/source
RUN pip install --no-cache-dir /tmp/source && rm -r /tmp/source
USER nobody
# gRPC and REST
EXPOSE 8500 8501
ENTRYPOINT ["kt-serve", "--host=0.0.0.0", "--export_dir=/export"]
