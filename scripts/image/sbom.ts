// SPDX-License-Identifier: Apache-2.0
// The SBOM of the image (CycloneDX): the packages in the bundle, Node, and Debian's packages. It contains no build
// tools and nothing that changes between builds.

import { createHash } from "node:crypto"
import type { Architecture, Parts } from "./parts.js"

export interface BundledPackage {
  readonly name: string
  readonly version: string
  readonly license: string | undefined
}

export function sbom(version: string, bundled: readonly BundledPackage[], parts: Parts) {
  const components = [
    ...bundled.map(({ name, version, license }) =>
      component("library", name, version, `pkg:npm/${name.replace(/^@/, "%40")}@${version}`, license),
    ),
    component("application", "node", parts.node.version, `pkg:generic/node@${parts.node.version}`, "MIT"),
    ...(["amd64", "arm64"] satisfies Architecture[]).flatMap(architecture =>
      parts.debian.packages[architecture].map(({ name, version, sha256 }) => ({
        ...component(
          "library",
          name,
          version,
          `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=${parts.debian.suite}`,
        ),
        hashes: [{ alg: "SHA-256", content: sha256 }],
      })),
    ),
  ].sort((a, b) => (a.purl < b.purl ? -1 : 1))
  const main = component("container", "merlon", version, `pkg:oci/merlon@${version}`, "Apache-2.0")
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify([version, components]))}`,
    version: 1,
    metadata: { component: main },
    components,
    dependencies: [
      { ref: main.purl, dependsOn: components.map(({ purl }) => purl) },
      ...components.map(({ purl }) => ({ ref: purl, dependsOn: [] })),
    ],
  }
}

function component(type: string, name: string, version: string, purl: string, license?: string) {
  return {
    type,
    name,
    version,
    purl,
    "bom-ref": purl,
    ...(license === undefined ? {} : { licenses: [licenseOf(license)] }),
  }
}

/** A single licence by its id, several as an expression. */
function licenseOf(text: string): object {
  return text.includes(" ") ? { expression: text } : { license: { id: text } }
}

/** The same for the same list (RFC 9562, version 8). */
function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
