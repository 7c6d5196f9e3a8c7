// SPDX-License-Identifier: Apache-2.0
// Headers that Envoy knows by name have a single line: it appends further lines to the first one, separated by commas.

export const JOINED_BY_ENVOY: ReadonlySet<string> = new Set([
  "authorization",
  "content-type",
  "user-agent",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-proto",
  "x-request-id",
])
