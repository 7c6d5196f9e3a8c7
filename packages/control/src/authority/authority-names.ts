// SPDX-License-Identifier: Apache-2.0
// Names of the authority's objects and annotations in a mesh.

import type { MeshNames } from "@merlon/policy/mesh"

export interface AuthorityNames {
  readonly namespace: string
  /** Secret with the generated root. */
  readonly rootSecret: string
  readonly rootSecretType: string
  /** Secret with an authority that an operator supplies. */
  readonly pluggedInSecret: string
  /** ConfigMap with the trust bundle, in every namespace. */
  readonly bundleConfigMap: string
  /** ConfigMap with the revocations. */
  readonly revocationsConfigMap: string
  readonly managedBy: string
  /** The ClusterRole of the control plane. It owns the objects that must be deleted with it. */
  readonly ownRole: string
  readonly annotations: {
    /** Set by users: a value that differs from the last one starts a rotation. */
    readonly rotate: string
    /** Set by users: the fingerprint of the old root, to drop it without waiting for the proxies that still need it. */
    readonly retire: string
    /** Set by users: the fingerprint of an expired root, to replace it with a new one. */
    readonly replaceExpired: string
    /** Set by us: the phase of the rotation. */
    readonly phase: string
    readonly signingRoot: string
    readonly oldRoot: string
  }
}

export const BUNDLE_KEY = "root-cert.pem"

export function authorityNames({ mesh, domain, rootNamespace }: MeshNames): AuthorityNames {
  return {
    namespace: rootNamespace,
    rootSecret: `${mesh}-ca`,
    rootSecretType: `${domain}/ca-root`,
    pluggedInSecret: `${mesh}-cacerts`,
    bundleConfigMap: `${mesh}-ca-root-cert`,
    revocationsConfigMap: `${mesh}-revocations`,
    managedBy: mesh,
    ownRole: `${mesh}d`,
    annotations: {
      rotate: `${domain}/rotate-root`,
      retire: `${domain}/retire-root`,
      replaceExpired: `${domain}/replace-ended-root`,
      phase: `${domain}/rotation-phase`,
      signingRoot: `${domain}/signing-root`,
      oldRoot: `${domain}/old-root`,
    },
  }
}
