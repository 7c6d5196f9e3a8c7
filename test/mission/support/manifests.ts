// SPDX-License-Identifier: Apache-2.0
// The samples' policies with the names of a mesh, and policies that the samples do not contain.

import { readFileSync } from "node:fs"
import type { MeshNames } from "@merlon/policy"

/** The issuer of the samples. */
export const ISSUER = "https://issuer.example"
/**
 * The policy of the samples with the same keys, for an issuer that can also be named as a subject: it contains no
 * slash.
 */
export const PLAIN_ISSUER = "testing@issuer.example"

/** A sample as a user of a mesh with another name would write it. */
export function sample(name: string, { domain, rootNamespace }: MeshNames): string {
  return readFileSync(`samples/policies/${name}.yaml`, "utf8")
    .replaceAll("merlon.dev", domain)
    .replaceAll("merlon-system", rootNamespace)
}

export function policy(names: MeshNames, kind: string, name: string, namespace: string, spec: object): string {
  const group = kind === "MeshService" ? names.networkingGroup : names.securityGroup
  return JSON.stringify({ apiVersion: `${group}/${names.version}`, kind, metadata: { name, namespace }, spec })
}

/** Joins manifests into one file. kubectl would read all of it as JSON if it began with JSON. */
export function together(...manifests: readonly string[]): string {
  return manifests.map(manifest => `---\n${manifest}\n`).join("")
}
