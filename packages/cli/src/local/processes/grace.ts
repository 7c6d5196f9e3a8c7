// SPDX-License-Identifier: Apache-2.0
// How long a process is asked before it is made to end. Whoever ends a holder waits for longer than the holder does: without
// it, a program that does not want to end would stay, at its port.

/** Of a program that is not ours, by `merlond hold`. */
export const HELD_GRACE_MS = 8_000
/** Of our own processes, holders among them. */
export const GRACE_MS: number = HELD_GRACE_MS + 2_000
