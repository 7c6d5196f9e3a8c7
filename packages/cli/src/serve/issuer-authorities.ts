// SPDX-License-Identifier: Apache-2.0
// Reads the file of `--jwks-ca`. Fails at startup: a file without certificates would otherwise be noticed only when the
// first issuer is rejected.

import { X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { messageOf } from "@merlon/xds/runtime"

const CERTIFICATE = /-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gs

export function readAuthorities(file: string): string {
  try {
    const text = readFileSync(file, "utf8")
    const certificates = text.match(CERTIFICATE) ?? []
    if (certificates.length === 0) throw new Error("it holds no certificate in PEM")
    for (const certificate of certificates) new X509Certificate(certificate)
    return text
  } catch (error) {
    throw new Error(`cannot use \`${file}\` as \`--jwks-ca\`: ${messageOf(error)}`)
  }
}
