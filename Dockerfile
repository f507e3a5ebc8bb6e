# The webhook: one static program and nothing else. It talks to the API server only,
# whose authority each pod is given, so it needs no certificates of its own, no
# shell and no libraries.
#
#   docker build -t k8sconnect/webhook:dev .
#   docker buildx build --platform linux/amd64,linux/arm64 …
ARG GO_VERSION=1.26.8

# It compiles where it runs, for what was asked for: no emulation.
FROM --platform=$BUILDPLATFORM golang:${GO_VERSION} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd/webhook cmd/webhook
COPY pkg pkg
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags '-s -w' -o /webhook ./cmd/webhook

FROM scratch
COPY --from=build /webhook /webhook
# By number: with runAsNonRoot, the kubelet cannot check a name.
USER 65532:65532
EXPOSE 10250 8080 8081
ENTRYPOINT ["/webhook"]
