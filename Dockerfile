# The binary is built outside (`make docker-build`), so the image needs no base image and no network.
FROM scratch
ARG TARGETARCH
# Empty, or -fips.
ARG VARIANT
ARG VERSION
LABEL org.opencontainers.image.title="kube8-operator" \
      org.opencontainers.image.description="Runs fleets of telemetry collectors" \
      org.opencontainers.image.source="https://github.com/kube8/kube8-operator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY bin/linux-${TARGETARCH}${VARIANT}/kube8-operator /kube8-operator
USER 65532:65532
ENTRYPOINT ["/kube8-operator"]
