// SPDX-License-Identifier: Apache-2.0
// Builds valid and invalid frames for tests (RFC 9113 section 4.1).

export const END_STREAM = 1

export function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(9)
  header.writeUIntBE(payload.length, 0, 3)
  header[3] = type
  header[4] = flags
  header.writeUInt32BE(stream, 5)
  return Buffer.concat([header, payload])
}
