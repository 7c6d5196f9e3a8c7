// SPDX-License-Identifier: Apache-2.0
// The file of `--jwks-ca`. Fail closed, and at the start: a file that holds no certificate would only be noticed when the
// first issuer is refused.

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
