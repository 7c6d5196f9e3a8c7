// SPDX-License-Identifier: Apache-2.0
// How long a process gets to end before it is killed. The timeout for `merlond hold` is longer than its own timeout for
// the program; otherwise a program that does not end would survive and keep its port.

/** For third-party programs under `merlond hold`. */
export const HELD_GRACE_MS = 8_000
/** For our own processes, including `merlond hold`. */
export const GRACE_MS: number = HELD_GRACE_MS + 2_000
