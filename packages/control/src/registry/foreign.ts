// SPDX-License-Identifier: Apache-2.0
// Reads untrusted values: a missing value or one of the wrong type reads as absent.

export interface Foreign {
  readonly [field: string]: unknown
}

const NOTHING: Foreign = Object.freeze({})

export function objectOf(value: unknown): Foreign {
  // An object that is not an array; its fields stay unknown.
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Foreign) : NOTHING
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined
}

export function portOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= 65_535 ? value : undefined
}

/** Labels and selectors: values that are not strings are left out, and no key has a special meaning. */
export function labelsOf(value: unknown): { readonly [key: string]: string } {
  const labels: Record<string, string> = Object.create(null)
  for (const [key, label] of Object.entries(objectOf(value))) if (typeof label === "string") labels[key] = label
  return labels
}
