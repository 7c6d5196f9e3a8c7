#!/usr/bin/env bash
# Puts the Go modules from which the tables of built-in kinds are made into FOLDER: `scripts/kubernetes-modules.sh FOLDER`.
# Needs go. They are the release that the tables in packages/cluster/generated come from; to take another one, change it
# here and run `npm run generate:kinds -- FOLDER`.
set -euo pipefail
release=37.0
folder="$1"

mkdir -p "$folder/k8s.io"
fetch() {
  local unpacked
  # From a folder that is no module, so that nothing but the one asked for is looked at.
  unpacked=$(cd "$folder" && GOFLAGS=-mod=mod go mod download -json "k8s.io/$1@$2" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  ln -sfn "$unpacked" "$folder/k8s.io/$1@$2"
}
for module in api apimachinery apiextensions-apiserver kube-aggregator; do fetch "$module" "v0.$release"; done
fetch kubernetes "v1.$release"
