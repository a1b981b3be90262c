# Build from source: docker build .
# Build from the binaries of a release, for two architectures: make images (BINARIES=release).
ARG BINARIES=source

FROM golang:1.26-bookworm AS source
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
ARG TARGETARCH
RUN CGO_ENABLED=0 GOARCH=${TARGETARCH} go build -trimpath -ldflags "-s -w -X github.com/millrace-dev/millrace/internal/config/version.Version=${VERSION}" -o /out/millrace ./cmd/millrace

FROM scratch AS release
ARG TARGETARCH
COPY dist/image/${TARGETARCH}/ /out/

FROM ${BINARIES} AS binaries

# One static binary on a small base. The user has a passwd entry, which some tools
# (initdb among them) insist on.
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates ffmpeg wget \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /var/lib/millrace --create-home --shell /usr/sbin/nologin millrace
COPY --from=binaries /out/millrace /usr/local/bin/millrace
USER 10001
VOLUME /var/lib/millrace
ENV MILLRACE_DATA=/var/lib/millrace
EXPOSE 8188
ENTRYPOINT ["millrace"]
CMD ["serve"]
