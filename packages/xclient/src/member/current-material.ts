// SPDX-License-Identifier: Apache-2.0
// The current credentials and trust as one value, whose id changes only when one of them really changed.

import { isDeepStrictEqual } from "node:util"
import type { TrustSpec } from "@merlon/xds"
import type { WorkloadCredentials } from "@merlon/xds/client"
import type { Material } from "../connect/material.js"

export class CurrentMaterial {
  #trust: TrustSpec | undefined
  #material: Material | undefined
  #ids = 0

  get trust(): TrustSpec | undefined {
    return this.#trust
  }

  /** Returns whether the trust bundle changed. */
  setTrust(trust: TrustSpec): boolean {
    if (isDeepStrictEqual(trust, this.#trust)) return false
    this.#trust = trust
    return true
  }

  /** Reads the credentials for each call, because they may have expired since the last one. */
  with(credentials: WorkloadCredentials | undefined): Material | undefined {
    const trust = this.#trust
    if (trust === undefined) return undefined
    if (this.#material?.trust !== trust || this.#material.credentials !== credentials) {
      this.#material = { id: ++this.#ids, credentials, trust }
    }
    return this.#material
  }
}
