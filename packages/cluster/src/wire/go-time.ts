// SPDX-License-Identifier: Apache-2.0
// Times on the wire: RFC 3339 in UTC, whole seconds for metav1.Time and six fractional digits for metav1.MicroTime.
// Errors have the messages of Go's time.Parse.

export interface GoTime {
  /** Microseconds since 1970. */
  readonly micros: bigint
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:\d\d)$/

export function parseGoTime(text: string, micro: boolean): GoTime | string {
  const layout = micro ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00"
  const match = rfc3339.exec(text)
  if (match === null || (micro && (match[7] ?? "").length !== 6)) {
    if (micro && match !== null)
      return `parsing time "${text}" as "${layout}": cannot parse "${text.slice(19)}" as ".000000"`
    return `parsing time "${text}" as "${layout}": cannot parse "${firstMismatch(text)}" as "${expectedPart(text)}"`
  }
  const millis = Date.parse(`${match[1]}-${match[2]}-${match[3]}T${match[4]}:${match[5]}:${match[6]}${match[8]}`)
  if (Number.isNaN(millis)) return `parsing time "${text}": day out of range`
  const fraction = BigInt((match[7] ?? "").slice(0, 6).padEnd(6, "0") || "0")
  return { micros: BigInt(millis) * 1000n + fraction }
}

const parts: [RegExp, string][] = [
  [/^\d{4}/, "2006"],
  [/^-/, "-"],
  [/^\d\d/, "01"],
  [/^-/, "-"],
  [/^\d\d/, "02"],
  [/^T/, "T"],
  [/^\d\d/, "15"],
  [/^:/, ":"],
  [/^\d\d/, "04"],
  [/^:/, ":"],
  [/^\d\d/, "05"],
  [/^(?:\.\d+)?/, ""],
  [/^(?:Z|[+-]\d\d:\d\d)/, "Z07:00"],
]

function walk(text: string): [string, string] {
  let rest = text
  for (const [pattern, name] of parts) {
    const match = pattern.exec(rest)
    if (match === null) return [rest, name]
    rest = rest.slice(match[0].length)
  }
  return [rest, ""]
}

const firstMismatch = (text: string): string => walk(text)[0]
const expectedPart = (text: string): string => walk(text)[1]

export function printTime({ micros }: GoTime): string {
  return new Date(Number(micros / 1000n)).toISOString().replace(/\.\d+Z$/, "Z")
}

export function printMicroTime({ micros }: GoTime): string {
  const fraction = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n
  return printTime({ micros }).replace("Z", `.${fraction.toString().padStart(6, "0")}Z`)
}

export function now(clock: () => number): string {
  return printTime({ micros: BigInt(Math.floor(clock())) * 1000n })
}
