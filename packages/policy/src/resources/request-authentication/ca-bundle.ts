// SPDX-License-Identifier: Apache-2.0
// Checks `caBundle` of a token rule: certificates that can be read, for keys that are fetched over TLS.

import { X509Certificate } from "node:crypto"
import type { Field } from "../field.js"
import { MAX_CA_BUNDLE } from "./definition.js"

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[A-Za-z0-9+/=\s]*-----END \1-----/g

/** `places`: where keys may be fetched from, in order of precedence. */
export function checkCaBundle(rule: Field, places: readonly Field[]): void {
  const bundle = rule.field("caBundle")
  const { text } = bundle
  if (text === undefined || text === "" || text.length > MAX_CA_BUNDLE) return
  if (rule.field("jwks").present) {
    bundle.error(
      "conflict",
      "`caBundle` is for keys that are fetched, and `jwks` has the keys",
      "remove one of the two",
    )
  }
  if (places.find(place => place.present)?.text?.startsWith("http://")) {
    bundle.error("conflict", "`caBundle` has no effect on an `http://` URL", "fetch the keys from an `https://` URL")
  }
  const problem = problemOf(text)
  if (problem !== undefined) {
    bundle.error("bad-value", problem, "write the certificates of the authorities as PEM, and nothing else")
  }
}

function problemOf(text: string): string | undefined {
  const blocks = [...text.matchAll(BLOCK)]
  // Fail closed: TLS would silently ignore everything that cannot be read as a certificate.
  if (blocks.length === 0 || text.replaceAll(BLOCK, "").trim() !== "")
    return "`caBundle` is not a list of PEM certificates"
  if (blocks.some(([, label]) => label !== "CERTIFICATE")) return "`caBundle` has something other than certificates"
  const unreadable = blocks.findIndex(([block]) => !isCertificate(block))
  return unreadable < 0 ? undefined : `certificate ${unreadable + 1} of \`caBundle\` cannot be read`
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).publicKey !== undefined
  } catch {
    return false
  }
}
