// SPDX-License-Identifier: Apache-2.0
// A certificate authority for tests, with certificates of servers and workloads.

import { generateKeyPairSync } from "node:crypto"
import { type AuthorityKeys, CertificateAuthority, type CertifiedPod, createRoot } from "@merlon/identity"

export const SERVER_NAME = "control.merlon.test"
export const IDENTITY = "spiffe://cluster.local/ns/shop/sa/orders"
const HOUR = 3_600_000

export interface TestCredentials {
  readonly chain: string
  readonly privateKey: string
  readonly serial: string
}

export class TestAuthority {
  readonly #authority: CertificateAuthority

  constructor(keys = createRoot({ trustDomain: "cluster.local", now: Date.now() })) {
    this.#authority = new CertificateAuthority(keys, Date.now())
  }

  get keys(): AuthorityKeys {
    return this.#authority.keys
  }

  get bundle(): string {
    return this.#authority.bundle
  }

  server(dnsName = SERVER_NAME): TestCredentials {
    const { publicKey, privateKey } = keyPair()
    const { certificateChain, serial } = this.#authority.signServer({
      publicKey,
      dnsNames: [dnsName],
      ipAddresses: [],
      ttlMs: HOUR,
      now: Date.now(),
    })
    return { chain: certificateChain, privateKey, serial }
  }

  /** `at` is when the certificate was signed; it is valid for an hour. */
  workload(identity = IDENTITY, at = Date.now(), pod?: CertifiedPod): TestCredentials {
    const { publicKey, privateKey } = keyPair()
    const { certificateChain, serial } = this.#authority.sign({ publicKey, identity, pod, ttlMs: HOUR, now: at })
    return { chain: certificateChain, privateKey, serial }
  }
}

function keyPair(): { readonly publicKey: Uint8Array; readonly privateKey: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  return {
    publicKey: publicKey.export({ type: "spki", format: "der" }),
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  }
}
