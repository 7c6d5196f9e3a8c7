// SPDX-License-Identifier: Apache-2.0
// Certificates for everyone: reading them, signing requests, the root and its rotation, revocations. Pure: no file, no socket.

export { type AuthorityKeys, BACKDATE_MS } from "./authority/authority-keys.js"
export {
  CertificateAuthority,
  type ServerSignRequest,
  type SignedCertificate,
  type SignRequest,
} from "./authority/certificate-authority.js"
export { createRoot, ROOT_LIFETIME_MS, type RootOptions } from "./authority/root.js"
export { rootFingerprint } from "./authority/root-fingerprint.js"
export {
  advance,
  bundleOf,
  type RotationFacts,
  type RotationPhase,
  type RotationState,
  servingKeys,
} from "./authority/rotation.js"
export { IDENTITY_FAULTS, IdentityError, type IdentityErrorCode } from "./errors.js"
export { type MadeRequest, makeSigningRequest } from "./request/make.js"
export { readSigningRequest, type SigningRequestResult } from "./request/read.js"
export { TicketKeys } from "./ticket-keys.js"
export { type BundleCertificate, type BundleResult, readBundle, readCertificates } from "./trust/bundle.js"
export { signerOf } from "./trust/chain.js"
export { type CertificateFacts, certificateFacts } from "./trust/facts.js"
export { parseRevocations, type RevocationFault, type RevocationLists } from "./trust/revocations.js"
export { renewAt, type Validity } from "./workload/renewal.js"
export { clampTtl, DEFAULT_TTL_LIMITS, type TtlLimits, type TtlResult } from "./workload/ttl.js"
export type { CertifiedPod } from "./x509/extensions.js"
export { type Inspected, inspectCertificate, type SubjectAltNames } from "./x509/inspect.js"
export { parseCertificate } from "./x509/parse-certificate.js"
export { canonicalSerial } from "./x509/serial.js"
