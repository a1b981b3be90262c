# syntax=docker/dockerfile:1
# One static binary on a small base. The user has a passwd entry, which some tools
# (initdb among them) insist on.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X github.com/millrace-dev/millrace/internal/config/version.Version=${VERSION}" -o /out/millrace ./cmd/millrace

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates ffmpeg wget \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /var/lib/millrace --create-home --shell /usr/sbin/nologin millrace
COPY --from=build /out/millrace /usr/local/bin/millrace
USER millrace
VOLUME /var/lib/millrace
ENV MILLRACE_DATA=/var/lib/millrace
EXPOSE 8188
ENTRYPOINT ["millrace"]
CMD ["serve"]
