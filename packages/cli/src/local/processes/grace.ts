// SPDX-License-Identifier: Apache-2.0
// How long a process gets to end before it is killed. The timeout for a holder is longer than the holder's own: otherwise
// a program that does not end would survive, with its port.

/** Of a program that is not ours, by `merlond hold`. */
export const HELD_GRACE_MS = 8_000
/** Of our own processes, holders among them. */
export const GRACE_MS: number = HELD_GRACE_MS + 2_000
