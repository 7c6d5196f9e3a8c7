// SPDX-License-Identifier: Apache-2.0
// When to renew a certificate: at half its lifetime, with jitter so that workloads that started together do not renew
// together.

import { BACKDATE_MS } from "../authority/authority-keys.js"

const JITTER = 0.01
/** Certificates of an expiring signer may be valid for moments only; requesting them faster would not help. */
const MIN_WAIT_MS = 5_000

export interface Validity {
  readonly notBefore: number
  readonly notAfter: number
}

/** Milliseconds since the epoch. `random` returns numbers from 0 to 1. */
export function renewAt({ notBefore, notAfter }: Validity, random: () => number): number {
  const life = notAfter - notBefore
  // Half of the lifetime since the certificate was signed, not since its backdated start: if the lifetime is short,
  // half of the dated validity lies before the signing, and the holder would renew without pause.
  const made = life > BACKDATE_MS ? notBefore + BACKDATE_MS : notBefore
  const share = 0.5 + (random() * 2 - 1) * JITTER
  return made + Math.max(MIN_WAIT_MS, Math.round((notAfter - made) * share))
}
