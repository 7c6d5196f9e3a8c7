// SPDX-License-Identifier: Apache-2.0
// The samples' policies with the names of a mesh, and policies that the samples do not have.

import { readFileSync } from "node:fs"
import type { MeshNames } from "@merlon/policy"

/** Of the samples. */
export const ISSUER = "https://issuer.example"
/** The policy of the samples with the same keys, for an issuer that may also be named as a subject: it has no slash. */
export const PLAIN_ISSUER = "testing@issuer.example"

/** As a person who runs a mesh of another name would write it. */
export function sample(name: string, { domain, rootNamespace }: MeshNames): string {
  return readFileSync(`samples/policies/${name}.yaml`, "utf8")
    .replaceAll("merlon.dev", domain)
    .replaceAll("merlon-system", rootNamespace)
}

export function policy(names: MeshNames, kind: string, name: string, namespace: string, spec: object): string {
  const group = kind === "MeshService" ? names.networkingGroup : names.securityGroup
  return JSON.stringify({ apiVersion: `${group}/${names.version}`, kind, metadata: { name, namespace }, spec })
}

/** In one file. kubectl reads all of it as JSON where that is what it begins with. */
export function together(...manifests: readonly string[]): string {
  return manifests.map(manifest => `---\n${manifest}\n`).join("")
}
