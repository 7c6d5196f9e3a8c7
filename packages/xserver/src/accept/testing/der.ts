// SPDX-License-Identifier: Apache-2.0
// Writes the few DER types of certificates, so that tests can make hostile ones as easily as good ones.

export function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const bytes = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...bytes]), content])
}

export function sequence(...contents: readonly Buffer[]): Buffer {
  return der(0x30, ...contents)
}

export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number)
  const bytes = [first * 40 + second]
  for (const arc of rest) {
    const digits = [arc & 0x7f]
    for (let left = arc >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80)
    bytes.push(...digits)
  }
  return der(0x06, Buffer.from(bytes))
}

export function utcTime(date: Date): Buffer {
  const text = date.toISOString().replace(/[-:T]/g, "").slice(2, 14)
  return der(0x17, Buffer.from(`${text}Z`, "latin1"))
}

export function pem(label: string, content: Buffer): string {
  const lines = content.toString("base64").match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`
}
