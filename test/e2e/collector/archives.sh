#!/usr/bin/env bash
# Builds what the end-to-end tests run, and writes it and the operator's image IMG to bin/images/*.tar: `make image-archives`.
# The images have the names that the samples ask for. Prometheus and syslog-ng are those of Debian's packages.
set -euo pipefail
cd "$(dirname "$0")/../../.."
releases=ghcr.io/open-telemetry/opentelemetry-collector-releases

export CGO_ENABLED=0
(cd test/e2e/collector && go run go.opentelemetry.io/collector/cmd/builder@v0.160.0 --config=builder.yaml)
go build -o bin/vendor/otelcol ./test/e2e/vendor
go -C test/e2e/metrics build -ldflags='-s -w' -o ../../../bin/metrics/test-adapter tool
go -C examples/portal build -o ../../bin/portal/portal .

# save IMAGE writes an archive. docker and podman save an image; buildah pushes it to an archive.
save() {
  local archive="bin/images/${1//[:\/]/-}.tar"
  case "$CONTAINER_TOOL" in
  *buildah) "$CONTAINER_TOOL" push --quiet "$1" "docker-archive:$archive:$1" ;;
  *) "$CONTAINER_TOOL" save --output "$archive" "$1" ;;
  esac
}

# programs FOLDER FILE... copies programs of this machine, which is a Debian, and the libraries that they load.
programs() {
  local folder=$1
  shift
  rm -rf "$folder"
  mkdir -p "$folder"
  # shellcheck disable=SC2046 # a list of paths
  cp --parents --dereference "$@" $(ldd "$@" | grep -oE '[[:space:]]/[^ ]+' | sort -u) "$folder"
}
programs bin/prometheus /usr/bin/prometheus
# The C library loads the last one by itself.
programs bin/syslog-ng /usr/sbin/syslog-ng /usr/bin/loggen /usr/lib/syslog-ng/[0-9]*/lib{affile,afsocket,syslogformat}.so \
  /usr/lib/syslog-ng/[0-9]*/loggen/libloggen_socket_plugin.so /lib/*-linux-gnu/libgcc_s.so.1

rm -rf bin/images
mkdir -p bin/images
save "$IMG"
while read -r image folder dockerfile; do
  "$CONTAINER_TOOL" build -f "$dockerfile" -t "$image" "$folder"
  save "$image"
done <<EOF
$releases/opentelemetry-collector:0.160.0 bin/collector test/e2e/collector/Dockerfile
$releases/opentelemetry-collector-k8s:0.160.0 bin/collector test/e2e/collector/Dockerfile
docker.io/grafana/alloy:v1.21.2 bin/vendor test/e2e/collector/Dockerfile
docker.io/prom/prometheus:v2.42.0 bin/prometheus test/e2e/collector/debian.Dockerfile
docker.io/balabit/syslog-ng:3.38.1 bin/syslog-ng test/e2e/collector/debian.Dockerfile
kube8.dev/test-adapter:v0 bin/metrics test/e2e/collector/debian.Dockerfile
kube8.dev/portal:v0 bin/portal examples/portal/Dockerfile
EOF
