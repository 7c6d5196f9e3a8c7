// SPDX-License-Identifier: Apache-2.0
// Reads an operator's authority from its files, under either of the two common sets of file names, and decides whether
// one authority may replace another while the mesh runs. Pure.

import { type AuthorityKeys, CertificateAuthority, readBundle, readCertificates } from "@merlon/identity"
import { messageOf } from "@merlon/xds/runtime"

export type PluggedInResult =
  | { readonly ok: true; readonly authority: CertificateAuthority }
  | { readonly ok: false; readonly message: string }

/** Every file name that is read. */
export const PLUGGED_IN_FILES = [
  "ca-cert.pem",
  "ca-key.pem",
  "cert-chain.pem",
  "root-cert.pem",
  "tls.crt",
  "tls.key",
  "ca.crt",
] as const

export function readPluggedIn(files: ReadonlyMap<string, string>, now: number): PluggedInResult {
  const own = files.has("ca-cert.pem") || files.has("ca-key.pem")
  const names = own
    ? (["ca-cert.pem", "ca-key.pem", "root-cert.pem"] as const)
    : (["tls.crt", "tls.key", "ca.crt"] as const)
  const [certificate, privateKey, root] = names.map(name => files.get(name))
  if (certificate === undefined || privateKey === undefined || root === undefined) {
    const missing = names.filter(name => !files.has(name)).map(name => `\`${name}\``)
    return rejected(`${missing.join(" and ")} missing; provide ${names.join(", ")}`)
  }
  try {
    const certificateChain = own ? joinChain(certificate, files.get("cert-chain.pem") ?? "") : certificate
    const keys: AuthorityKeys = { certificateChain, privateKey, root }
    return { ok: true, authority: new CertificateAuthority(keys, now) }
  } catch (error) {
    return rejected(messageOf(error))
  }
}

/**
 * Why `next` must not replace `current`; undefined if it may. A root must be added before its authority signs, and the
 * old one removed later. Otherwise some proxies would present certificates that others do not trust yet.
 */
export function replacementError(current: CertificateAuthority, next: CertificateAuthority): string | undefined {
  const before = fingerprintsOf(current)
  const after = fingerprintsOf(next)
  const contains = (whole: readonly string[], part: readonly string[]) => part.every(root => whole.includes(root))
  if (!contains(after, before) && !contains(before, after)) {
    return "roots were added and removed in one step; add the new root first, and remove the old one when all proxies trust the new one"
  }
  if (!before.includes(next.fingerprint)) {
    return "it signs with a root that the mesh does not trust yet; add the root first, then switch to it"
  }
  return undefined
}

/** `cert-chain.pem` often begins with the signing certificate itself. */
function joinChain(certificate: string, chain: string): string {
  if (chain.trim() === "") return certificate
  const first = readCertificates(certificate)
  const rest = readCertificates(chain)
  if (!first.ok) return certificate
  if (!rest.ok) throw new Error(`\`cert-chain.pem\` cannot be used: ${rest.message}`)
  const known = new Set(first.certificates.map(({ fingerprint }) => fingerprint))
  return [...first.certificates, ...rest.certificates.filter(({ fingerprint }) => !known.has(fingerprint))]
    .map(({ pem }) => pem)
    .join("")
}

function fingerprintsOf({ bundle }: CertificateAuthority): readonly string[] {
  const read = readBundle(bundle)
  return read.ok ? read.certificates.map(({ fingerprint }) => fingerprint) : []
}

function rejected(message: string): PluggedInResult {
  return { ok: false, message }
}
