// SPDX-License-Identifier: Apache-2.0
// The one buffer that every socket of the process reads into.

// INVARIANT: read and used up within one callback; nothing keeps a view of it, and no read happens within another.
export const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)

/** The same bytes, for whoever looks at several at a time. */
export const READ_VIEW = new DataView(READ_BUFFER.buffer)
