// SPDX-License-Identifier: Apache-2.0
// The least that a TLS connection to an issuer is made of: TLS 1.3, or 1.2 with forward secrecy (RFC 9325, 4.1).

export const TLS_FLOOR = {
  minVersion: "TLSv1.2",
  ciphers: "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20",
} as const
