#!/usr/bin/env bash
# Builds what `npm run test:kubernetes` needs of Kubernetes, from Go modules, into a folder:
#   scripts/test-kubernetes-programs.sh [FOLDER]     (default: MERLON_KUBERNETES_BIN, else ~/.cache/merlon-kubernetes/bin)
# What is there already is not built again. Needs Go; takes a quarter of an hour on two cores.
set -euo pipefail
folder=${1:-${MERLON_KUBERNETES_BIN:-$HOME/.cache/merlon-kubernetes/bin}}
kubernetes=1.36.4
old=1.28.15
helm=v3.21.4
coredns=v1.12.0

mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0

# The repository of Kubernetes is no module that others may require as it is: its own libraries are named there as v0.0.0 and
# published as v0.MINOR.PATCH. A module of our own that says so can build its programs.
#   programs_of VERSION SUFFIX PROGRAM...
programs_of() {
  local version=$1 suffix=$2 minor=${1#1.}
  shift 2
  local module
  module=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
  mkdir -p "$work/$version" && cd "$work/$version"
  {
    echo "module programs"
    grep -m1 '^go ' "$module"
    grep '^godebug' "$module" || true
    echo "require k8s.io/kubernetes v$version"
    grep -o 'k8s\.io/[a-z0-9./-]* v0\.0\.0$' "$module" | cut -d' ' -f1 | sort -u |
      while read -r library; do echo "replace $library => $library v0.$minor"; done
  } > go.mod
  local stamped="k8s.io/component-base/version"
  local stamp="-s -w -X $stamped.gitVersion=v$version -X $stamped.gitMajor=1 -X $stamped.gitMinor=${minor%%.*}"
  for program in "$@"; do
    [ -x "$folder/$program$suffix" ] && continue
    echo "building $program $version" >&2
    go build -mod=mod -ldflags "$stamp" -o "$folder/$program$suffix" "k8s.io/kubernetes/cmd/$program"
  done
}
programs_of "$kubernetes" "" kubectl kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy
# Three years older, as people still have it.
programs_of "$old" -old kubectl
[ -x "$folder/helm" ] || GOBIN=$folder go install -ldflags "-s -w" "helm.sh/helm/v3/cmd/helm@$helm"
[ -x "$folder/coredns" ] || GOBIN=$folder go install -ldflags "-s -w" "github.com/coredns/coredns@$coredns"
