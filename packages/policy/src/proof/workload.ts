// SPDX-License-Identifier: Apache-2.0
// Whom questions are about.

import type { Workload } from "../selection/workload.js"

/** A workload as far as answers depend on it. */
export interface ProofWorkload extends Workload {
  /** What it serves; empty where nobody knows, and any port may be. */
  readonly ports?: readonly number[]
  readonly serviceAccount?: string
  /** What callers call it, as `web.foo:8000`. */
  readonly host?: string
}

export function hostOf({ host, name, namespace }: ProofWorkload): string {
  return host ?? `${name}.${namespace}`
}
