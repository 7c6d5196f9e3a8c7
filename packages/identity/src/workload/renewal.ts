// SPDX-License-Identifier: Apache-2.0
// When to renew a certificate: at half its lifetime, with jitter so that workloads that started together do not renew
// together.

import { BACKDATE_MS } from "../authority/authority-keys.js"

const JITTER = 0.01
/** Certificates of a signer about to end may live for moments; asking faster would not make them live longer. */
const MIN_WAIT_MS = 5_000

export interface Validity {
  readonly notBefore: number
  readonly notAfter: number
}

/** Milliseconds since the epoch. `random` yields numbers from 0 to 1. */
export function renewAt({ notBefore, notAfter }: Validity, random: () => number): number {
  const life = notAfter - notBefore
  // Half of the life from when the certificate came into being, not from when it says: with a short life, half of what
  // it says lies before its making, and the holder would renew without pause.
  const made = life > BACKDATE_MS ? notBefore + BACKDATE_MS : notBefore
  const share = 0.5 + (random() * 2 - 1) * JITTER
  return made + Math.max(MIN_WAIT_MS, Math.round((notAfter - made) * share))
}
