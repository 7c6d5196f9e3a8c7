#!/usr/bin/env bash
# Builds the gateways that tests use into the given folder: Caddy, Traefik, Contour, and Envoy Gateway's translator.
# Takes several minutes. Needs Go and the network.
set -euo pipefail
folder="$(mkdir -p "$1" && cd "$1" && pwd)"

build() { # MODULE PACKAGE@VERSION
  GOBIN="$folder" CGO_ENABLED=0 go install -ldflags="-s -w" "$1/$2"
}
build github.com/caddyserver/caddy/v2 cmd/caddy@v2.11.7
build github.com/projectcontour/contour cmd/contour@v1.33.8
build github.com/envoyproxy/gateway cmd/egctl@v1.9.1

folder_of() { # MODULE@VERSION
  go mod download -json "$1" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'
}
# The Contour program does not contain its CRDs.
install -m 644 "$(folder_of github.com/projectcontour/contour@v1.33.8)/examples/contour/01-crds.yaml" "$folder/contour-crds.yaml"

# Traefik's module lacks the web console, which the program embeds.
source="$(mktemp -d)"
trap 'chmod -R u+w "$source"; rm -rf "$source"' EXIT
cp -r "$(folder_of github.com/traefik/traefik/v3@v3.5.4)/." "$source"
chmod -R u+w "$source"
mkdir -p "$source/webui/static"
echo "no console" > "$source/webui/static/index.html"
(cd "$source" && CGO_ENABLED=0 go build -ldflags="-s -w" -o "$folder/traefik" ./cmd/traefik)
