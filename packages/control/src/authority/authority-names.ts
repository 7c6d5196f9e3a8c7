// SPDX-License-Identifier: Apache-2.0
// Names of the authority's objects and annotations in a mesh.

import type { MeshNames } from "@merlon/policy/mesh"

export interface AuthorityNames {
  readonly namespace: string
  /** Secret with the root that we made. */
  readonly rootSecret: string
  readonly rootSecretType: string
  /** Secret with an authority that an operator plugs in. */
  readonly pluggedInSecret: string
  /** ConfigMap with the trust bundle, in every namespace. */
  readonly bundleConfigMap: string
  /** ConfigMap with those who are no longer believed. */
  readonly revocationsConfigMap: string
  readonly managedBy: string
  /** The ClusterRole of the control plane, which owns what must not outlive it. */
  readonly ownRole: string
  readonly annotations: {
    /** Set by people: any value that differs from the last one begins a rotation. */
    readonly rotate: string
    /** Set by people: the old root's fingerprint, to drop it without waiting for those who depend on it. */
    readonly retire: string
    /** Set by people: the fingerprint of a root that has ended, to have a new one made in its place. */
    readonly replaceEnded: string
    /** Set by us: how far a rotation is. */
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
      replaceEnded: `${domain}/replace-ended-root`,
      phase: `${domain}/rotation-phase`,
      signingRoot: `${domain}/signing-root`,
      oldRoot: `${domain}/old-root`,
    },
  }
}
