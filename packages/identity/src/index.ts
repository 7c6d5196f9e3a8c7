// SPDX-License-Identifier: Apache-2.0
// Certificates: parsing, signing requests, the root and its rotation, revocations. Pure: no files, no sockets.

export { type AuthorityKeys, BACKDATE_MS } from "./authority/authority-keys.js"
export { CertificateAuthority, type SignedCertificate } from "./authority/certificate-authority.js"
export { createRoot, ROOT_LIFETIME_MS } from "./authority/root.js"
export { rootFingerprint } from "./authority/root-fingerprint.js"
export {
  advance,
  bundleOf,
  type RotationFacts,
  type RotationPhase,
  type RotationState,
  servingKeys,
} from "./authority/rotation.js"
export { IDENTITY_ERRORS, IdentityError } from "./errors.js"
export { makeSigningRequest } from "./request/make.js"
export { readSigningRequest } from "./request/read.js"
export { TicketKeys } from "./ticket-keys.js"
export { readBundle, readCertificates } from "./trust/bundle.js"
export { signerOf } from "./trust/chain.js"
export { certificateFacts } from "./trust/facts.js"
export { parseRevocations, type RevocationError, type RevocationLists } from "./trust/revocations.js"
export { renewAt } from "./workload/renewal.js"
export { clampTtl, DEFAULT_TTL_LIMITS, type TtlLimits } from "./workload/ttl.js"
export type { CertifiedPod } from "./x509/extensions.js"
export { inspectCertificate } from "./x509/inspect.js"
export { parseCertificate } from "./x509/parse-certificate.js"
export { canonicalSerial } from "./x509/serial.js"
