// SPDX-License-Identifier: Apache-2.0
// Writes a certificate with the source of the proofs and checks it with the source of the checker.

import type { MeshConfig } from "../../packages/policy/src/mesh/config.js"
import { Certificate, NotCertified } from "../../packages/policy/src/proof/certificate/certificate.js"
import type { PolicyDocument } from "../../packages/policy/src/resources/document.js"
import { checkCertificate, readPolicy } from "../../packages/proof-check/src/index.js"

export type Sides = readonly (readonly PolicyDocument[])[]

/** Returns undefined if no certificate can be written. */
export function certificateOf(sides: Sides, settings: MeshConfig, ask: (of: Certificate) => void): string | undefined {
  const parts: string[] = []
  const certificate = new Certificate(part => void parts.push(part))
  try {
    ask(certificate)
    certificate.end(sides, settings)
    return parts.join("")
  } catch (error) {
    if (error instanceof NotCertified) return undefined
    throw error
  }
}

/** Converts policies to JSON first, because the checker reads files. */
export function checked(certificate: string, sides: Sides, maxSteps?: number): readonly string[] {
  const read = (document: unknown) => readPolicy(JSON.parse(JSON.stringify(document)), "default") ?? []
  return checkCertificate(
    certificate,
    sides.map(side => side.flatMap(read)),
    maxSteps,
  ).proved
}
