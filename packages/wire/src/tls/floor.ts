// SPDX-License-Identifier: Apache-2.0
// The minimum for every TLS connection, on either side: TLS 1.3, or 1.2 with forward secrecy. With static RSA, an
// attacker who later obtains the key could decrypt recorded traffic.

export const TLS_FLOOR = {
  minVersion: "TLSv1.2",
  ciphers: [
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_GCM_SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
  ].join(":"),
} as const

/**
 * Between our own programs: TLS 1.3 only. A TLS 1.2 ticket contains the session's key, so an attacker who obtains the
 * ticket key can decrypt a recorded session. With TLS 1.3, resumption agrees on a new key (RFC 8446 section 2.2).
 */
export const TLS_INTERNAL = { ...TLS_FLOOR, minVersion: "TLSv1.3" } as const
