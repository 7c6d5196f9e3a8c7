// SPDX-License-Identifier: Apache-2.0
// Names of the installed components, all derived from the mesh's name.

import type { MeshNames } from "@merlon/policy/mesh"

export interface ComponentNames {
  /** The control plane itself: its service account, roles, Lease and Service. */
  readonly controlPlane: string
  /** The authorizer for gateways: its Deployment, Service and service account, in a namespace of the user's choice. */
  readonly authorizer: string
  /** The ConfigMap with the roots, in every namespace. */
  readonly trustBundle: string
  /** The NetworkPolicy of capture by Service, in every opted-in namespace. */
  readonly capturePolicy: string
  readonly validator: string
  readonly injector: string
  /** The field manager in server-side apply. */
  readonly fieldManager: string
  /** On CRDs: their version of our schemas. */
  readonly versionAnnotation: string
}

export function componentNames({ mesh, domain }: MeshNames): ComponentNames {
  return {
    controlPlane: `${mesh}d`,
    authorizer: `${mesh}-authorizer`,
    trustBundle: `${mesh}-ca-root-cert`,
    capturePolicy: `${mesh}-capture`,
    validator: `${mesh}-validator`,
    injector: `${mesh}-injector`,
    fieldManager: `${mesh}d`,
    versionAnnotation: `${domain}/crd-version`,
  }
}
