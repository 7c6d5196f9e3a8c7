// SPDX-License-Identifier: Apache-2.0
// The current certificate, trust bundle and revocations of all listeners. Replacing them is one assignment: new
// handshakes use the new ones, old sessions cannot be resumed, and open connections of a revoked identity or of a root
// that is no longer trusted are closed.

import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto"
import { createSecureContext } from "node:tls"
import { canonicalSerial, inspectCertificate, TicketKeys } from "@merlon/identity"
import { messageOf } from "@merlon/xds/runtime"
import type { Revocations, TlsMaterial } from "../config/configuration.js"
import type { MaterialCode } from "../errors.js"
import type { Connections } from "./connections.js"
import { isTrusted } from "./trusted-chain.js"

export interface LoadedMaterial extends TlsMaterial {
  /** Our own SPIFFE id. */
  readonly identity: string
  /**
   * Keys of session tickets; new with each material, so that no session outlives the conditions under which it was
   * granted.
   */
  readonly ticketKeys: TicketKeys
  readonly revoked: RevocationSet
  readonly roots: readonly X509Certificate[]
}

export interface RevocationSet {
  readonly identities: ReadonlySet<string>
  readonly serials: ReadonlySet<string>
}

class MaterialError extends Error {
  override readonly name = "MaterialError"

  constructor(
    readonly code: MaterialCode,
    message: string,
  ) {
    super(message)
  }
}

const NO_REVOCATIONS: Revocations = { identities: [], serials: [] }
const SECRET_BYTES = 32

export class TransportSecurity {
  readonly #connections: Connections
  readonly #ticketSecret: Buffer
  #current: LoadedMaterial | undefined
  /** Roots of the last material: open connections were accepted under one of them. */
  #roots: readonly X509Certificate[] = []

  /** Processes that share a port share the secret too, so that each can resume the sessions of the others. */
  constructor(connections: Connections, ticketSecret: Buffer = randomBytes(SECRET_BYTES)) {
    this.#connections = connections
    this.#ticketSecret = ticketSecret
  }

  /** Undefined if the workload has no identity: TLS is then rejected. */
  get current(): LoadedMaterial | undefined {
    return this.#current
  }

  /** Throws a MaterialError if the material cannot be used; the current material then stays in effect. */
  swap(material: TlsMaterial | undefined, revocations: Revocations = NO_REVOCATIONS): void {
    const revoked = revocationSet(revocations)
    // A change of policy brings the same material again, which is no reason for every peer to repeat its handshake.
    if (isSame(this.#current, material, revoked)) return
    this.#current = material && loadMaterial(material, revoked, this.#ticketSecret)
    this.#connections.revokeWhere(({ peer, serial }) => peer !== undefined && isRevoked(revoked, { ...peer, serial }))
    if (this.#current !== undefined) this.#endUntrusted(this.#current)
  }

  #endUntrusted({ roots }: LoadedMaterial): void {
    const before = this.#roots
    this.#roots = roots
    if (!lacksOneOf(roots, before)) return
    // A caller may have many connections with one certificate.
    const judged = new Map<string, boolean>()
    this.#connections.revokeWhere(({ peer, chain }) => {
      if (peer === undefined) return false
      const name = `${chain?.leaf.fingerprint256} ${chain?.issuer?.fingerprint256}`
      const trusted = judged.get(name) ?? isTrusted(chain, roots)
      judged.set(name, trusted)
      return !trusted
    })
  }
}

/** Whether a root in `before` is missing from `roots`. */
export function lacksOneOf(roots: readonly X509Certificate[], before: readonly X509Certificate[]): boolean {
  const kept = new Set(roots.map(({ fingerprint256 }) => fingerprint256))
  return before.some(({ fingerprint256 }) => !kept.has(fingerprint256))
}

export function isRevoked(
  { identities, serials }: RevocationSet,
  { uri, serial }: { readonly uri: string; readonly serial: string | undefined },
): boolean {
  return identities.has(uri) || (serial !== undefined && serials.has(canonicalSerial(serial)))
}

/** Finds everything that would make a later handshake fail, before anything is replaced. */
function loadMaterial(material: TlsMaterial, revoked: RevocationSet, ticketSecret: Buffer): LoadedMaterial {
  const { certificateChain, privateKey, trustBundle } = material
  // INVARIANT: an empty bundle never reaches node:tls, which would then trust every public authority.
  const roots = certificatesIn(trustBundle, "the trust bundle")
  const [leaf] = certificatesIn(certificateChain, "the certificate chain")
  if (roots.length === 0) throw new MaterialError("no-root", "the trust bundle holds no certificate")
  if (leaf === undefined) throw new MaterialError("no-certificate", "the certificate chain holds no certificate")
  try {
    if (!leaf.checkPrivateKey(createPrivateKey(privateKey)))
      throw new MaterialError("wrong-key", "the private key does not belong to the certificate")
    createSecureContext({ cert: certificateChain, key: privateKey, ca: trustBundle })
  } catch (error) {
    if (error instanceof MaterialError) throw error
    throw new MaterialError("bad-certificate", `the certificate or its key cannot be used: ${messageOf(error)}`)
  }
  const identity = inspectCertificate(leaf.raw)?.identity
  if (identity === undefined)
    throw new MaterialError("no-identity", "the certificate does not have exactly one SPIFFE identity")
  const ticketKeys = new TicketKeys(ticketSecret, grantedUnder(material, revoked), Date.parse(leaf.validTo))
  return { ...material, identity: identity.uri, ticketKeys, revoked, roots }
}

function grantedUnder({ certificateChain, trustBundle }: TlsMaterial, { identities, serials }: RevocationSet): string {
  return JSON.stringify([certificateChain, trustBundle, [...identities].sort(), [...serials].sort()])
}

function isSame(
  current: LoadedMaterial | undefined,
  material: TlsMaterial | undefined,
  { identities, serials }: RevocationSet,
): boolean {
  if (current === undefined || material === undefined) return false
  const { certificateChain, privateKey, trustBundle, revoked } = current
  if (certificateChain !== material.certificateChain || privateKey !== material.privateKey) return false
  return (
    trustBundle === material.trustBundle && equal(revoked.identities, identities) && equal(revoked.serials, serials)
  )
}

function equal(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every(entry => b.has(entry))
}

function certificatesIn(pem: string, what: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  try {
    return blocks.map(block => new X509Certificate(block))
  } catch (error) {
    throw new MaterialError("bad-certificate", `${what} cannot be read: ${messageOf(error)}`)
  }
}

function revocationSet({ identities, serials }: Revocations): RevocationSet {
  return { identities: new Set(identities), serials: new Set(serials.map(canonicalSerial)) }
}
