// SPDX-License-Identifier: Apache-2.0
// Parses untrusted JSON text into deeply frozen values without a prototype: `__proto__` and `constructor` are ordinary
// names, and cached values cannot be changed by their readers. If a name occurs twice, the last member counts (RFC 8259
// section 4, as in JSON.parse). Nesting is bounded because readers may recurse.

import type { Claim } from "../request/attributes.js"

export interface JsonObject {
  readonly [name: string]: Claim
}

const MAX_DEPTH = 32

// `fatal`: RFC 8259 section 8.1 requires UTF-8, and a lenient decoder would map different bytes to one claim.
// `ignoreBOM` keeps a byte order mark in the text, where JSON.parse rejects it.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** The text, or undefined if the bytes are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

/** The object, or undefined if the bytes are not a JSON object. */
export function parseJsonObject(bytes: Uint8Array): JsonObject | undefined {
  const text = decodeText(bytes)
  return text === undefined ? undefined : parseJsonText(text)
}

/** The object, or undefined if a name occurs twice in one: another reader may take the other member. */
export function parseUnambiguousJsonObject(bytes: Uint8Array): JsonObject | undefined {
  const text = decodeText(bytes)
  const object = text === undefined ? undefined : parseJsonText(text)
  if (text === undefined || object === undefined) return undefined
  const written = [...text.matchAll(STRING)].filter(([, colon]) => colon !== undefined).length
  return written === membersOf(object) ? object : undefined
}

/** In JSON text, only the name of a member is followed by a colon. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g

function membersOf(value: Claim): number {
  if (typeof value !== "object" || value === null) return 0
  const items = Object.values(value)
  const own = Array.isArray(value) ? 0 : items.length
  return items.reduce<number>((sum, item) => sum + membersOf(item), own)
}

export function parseJsonText(text: string): JsonObject | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
  return safeObject(value, MAX_DEPTH)
}

function safeValue(value: unknown, depth: number): Claim | undefined {
  if (typeof value !== "object" || value === null) return value as Claim // JSON.parse yields no other scalars
  return Array.isArray(value) ? safeList(value, depth) : safeObject(value, depth)
}

function safeList(items: readonly unknown[], depth: number): Claim | undefined {
  if (depth === 0) return undefined
  const list: Claim[] = []
  for (const item of items) {
    const safe = safeValue(item, depth - 1)
    if (safe === undefined) return undefined
    list.push(safe)
  }
  return Object.freeze(list)
}

function safeObject(members: object, depth: number): JsonObject | undefined {
  if (depth === 0) return undefined
  const object: Record<string, Claim> = Object.create(null)
  for (const [name, member] of Object.entries(members)) {
    const safe = safeValue(member, depth - 1)
    if (safe === undefined) return undefined
    object[name] = safe
  }
  return Object.freeze(object)
}
