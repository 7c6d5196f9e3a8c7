// SPDX-License-Identifier: Apache-2.0
// The krew manifest of `kubectl merlon`: the archives of a release with their digests.

import { stringify } from "yaml"
import type { Arch } from "./executable.js"

/** Releases are downloaded from here, by version and name. */
const DOWNLOADS = "https://merlon.dev/releases"

export const krewArchiveName = (version: string, arch: Arch): string => `kubectl-merlon-${version}-linux-${arch}.tar.gz`

/** `digests`: SHA-256 of each archive. */
export function krewManifest(version: string, digests: ReadonlyMap<Arch, string>): string {
  const platforms = [...digests].map(([arch, sha256]) => ({
    selector: { matchLabels: { os: "linux", arch: arch === "x64" ? "amd64" : "arm64" } },
    uri: `${DOWNLOADS}/v${version}/${krewArchiveName(version, arch)}`,
    sha256,
    bin: "kubectl-merlon",
  }))
  return stringify(
    {
      apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
      kind: "Plugin",
      metadata: { name: "merlon" },
      spec: {
        version: `v${version}`,
        homepage: "https://merlon.dev",
        shortDescription: "Prove what mesh policies allow",
        description:
          "Compares, explains and tests authorization policies of a service mesh (Merlon's or Istio's), from files or a cluster.\n",
        platforms,
      },
    },
    { lineWidth: 0 },
  )
}
