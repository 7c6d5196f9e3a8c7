// SPDX-License-Identifier: Apache-2.0

import { X509Certificate } from "node:crypto"
import { describe, expect, it } from "vitest"
import { createRoot } from "../authority/root.js"
import { parseCertificate } from "./parse-certificate.js"

const pemOf = (trustDomain: string): string => createRoot({ trustDomain, now: Date.now() }).root
const [own, other] = [pemOf("own.example"), pemOf("other.example")]
const raw = new X509Certificate(own).raw

describe("the bytes of a certificate", () => {
  it("are parsed as that certificate", () => {
    expect(parseCertificate(raw)?.raw).toEqual(raw)
  })

  it("are not parsed as another certificate that they contain as text", () => {
    const crafted = Buffer.concat([raw, Buffer.from(`\n${other}`)])
    // If this ever fails, Node no longer searches for PEM text, and the check can be removed.
    expect(new X509Certificate(crafted).raw).toEqual(new X509Certificate(other).raw)
    expect(parseCertificate(crafted)).toBeUndefined()
  })

  it.each([
    ["nothing", Buffer.alloc(0)],
    ["half of a certificate", raw.subarray(0, raw.length / 2)],
    ["a certificate with trailing data", Buffer.concat([raw, Buffer.from([0])])],
    ["text", Buffer.from(own)],
  ])("are rejected if they are %s", (_, bytes) => {
    expect(parseCertificate(bytes)).toBeUndefined()
  })
})
