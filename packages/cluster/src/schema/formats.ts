// SPDX-License-Identifier: Apache-2.0
//
// The string formats that Kubernetes checks in custom resources. Unknown formats are not checked.

import { isIP } from "node:net"

const checks: Record<string, (text: string) => boolean> = {
  "date-time": text =>
    /^\d{4}-\d\d-\d\d[tT ]\d\d:\d\d:\d\d(\.\d+)?([zZ]|[+-]\d\d:?\d\d)$/.test(text) &&
    !Number.isNaN(Date.parse(text.replace(" ", "T"))),
  date: text => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  email: text => /^[^\s@<>]+@[^\s@<>]+$/.test(text),
  hostname: text =>
    text.length <= 255 &&
    /^[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9])?)*\.?$/.test(text),
  ipv4: text => isIP(text) === 4,
  ipv6: text => isIP(text) === 6,
  cidr: text => /^[^/]+\/\d{1,3}$/.test(text) && isIP(text.split("/")[0] ?? "") !== 0,
  uri: text => URL.canParse(text),
  uuid: text => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text),
  byte: text => /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0,
  mac: text => /^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i.test(text),
  duration: text =>
    /^-?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text) ||
    text === "0" ||
    /^\d+\s*(day|week|hour|minute|second|d|w|h|m|s)/.test(text),
}

export function checkFormat(format: string, text: string): boolean {
  const check = Object.hasOwn(checks, format) ? checks[format] : undefined
  return check === undefined || check(text)
}
