// SPDX-License-Identifier: Apache-2.0
// Resource quantities: parsed exactly (big integers scaled by powers of ten) and printed in Kubernetes' canonical form,
// which keeps the suffix family of the input. Comparison is exact.

export interface Quantity {
  /** The value times 10^9; smaller fractions are rounded up, as in Kubernetes. */
  readonly nano: bigint
  readonly format: "BinarySI" | "DecimalSI" | "DecimalExponent"
}

const decimal: Record<string, number> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
const binary = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
const pattern = /^([+-]?)(\d*)(?:\.(\d*))?((?:[eE][+-]?\d+)|[KMGTPE]i|[numkMGTPE])?$/

export const quantityError =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

export function parseQuantity(text: string): Quantity | undefined {
  const match = pattern.exec(text)
  if (match === null) return undefined
  const [, sign, whole = "", fraction = "", suffix = ""] = match
  if (whole === "" && fraction === "") return undefined
  let digits = BigInt(`${whole}${fraction}` || "0")
  let scale = 9 - fraction.length
  let format: Quantity["format"] = "DecimalSI"
  if (suffix.endsWith("i")) {
    format = "BinarySI"
    digits *= 1024n ** BigInt(binary.indexOf(suffix))
  } else if (/^[eE][+-]?\d+$/.test(suffix)) {
    format = "DecimalExponent"
    scale += Number(suffix.slice(1))
  } else scale += decimal[suffix] ?? 0
  let nano: bigint
  if (scale >= 0) nano = digits * 10n ** BigInt(scale)
  else {
    const divisor = 10n ** BigInt(-scale)
    nano = (digits + divisor - 1n) / divisor
  }
  return { nano: sign === "-" ? -nano : nano, format }
}

export function canonicalQuantity(text: string): string | undefined {
  const quantity = parseQuantity(text)
  return quantity === undefined ? undefined : printQuantity(quantity)
}

function printQuantity({ nano, format }: Quantity): string {
  if (nano === 0n) return "0"
  const one = 10n ** 9n
  const sign = nano < 0n ? "-" : ""
  const size = nano < 0n ? -nano : nano
  if (format === "BinarySI" && size >= 1024n * one && size % one === 0n) {
    let value = size / one
    let step = 0
    while (value % 1024n === 0n && step < binary.length - 1) {
      value /= 1024n
      step++
    }
    return `${sign}${value}${binary[step]}`
  }
  let value = size
  let exponent = -9
  while (value % 1000n === 0n && exponent < 18) {
    value /= 1000n
    exponent += 3
  }
  if (format === "DecimalExponent") return exponent === 0 ? `${sign}${value}` : `${sign}${value}e${exponent}`
  const suffix = Object.entries(decimal).find(([, power]) => power === exponent)?.[0] ?? ""
  return `${sign}${value}${suffix}`
}
