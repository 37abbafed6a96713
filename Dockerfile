# syntax=docker/dockerfile:1
# docker build -t likewise . && docker run -e LIKEWISE_TOKEN=... -p 127.0.0.1:8000:8000 -v "$PWD/data:/data" likewise
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/likewise
RUN /opt/likewise/bin/pip install --no-cache-dir '.[server,pgvector,hybrid,tracing]'

FROM python:3.12-slim
COPY --from=build /opt/likewise /opt/likewise
RUN useradd --system --create-home --uid 10001 likewise \
    && mkdir -p /var/cache/likewise /data \
    && chown likewise /var/cache/likewise /data
ENV PATH=/opt/likewise/bin:$PATH NUMBA_CACHE_DIR=/var/cache/likewise PYTHONUNBUFFERED=1
USER likewise
# Compiled here, so that no request waits for the compiler; another processor compiles again.
RUN likewise warmup --quiet
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
ENTRYPOINT ["likewise", "serve"]
CMD ["/data/model.safetensors", "--items", "/data/items.parquet", "--host", "0.0.0.0"]
