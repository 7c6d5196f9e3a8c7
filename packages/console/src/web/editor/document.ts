// SPDX-License-Identifier: Apache-2.0
// One policy's text as a value, with its errors and the position of each field in the text.

import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml"
import type { Policy } from "../api/objects.js"

export interface DocumentError {
  /** Starts at 1. */
  readonly line: number
  /** The offset in the text, from 0. */
  readonly from: number
  readonly to: number
  readonly message: string
}

export interface PolicyText {
  /** Absent if the text is not a policy. */
  readonly value: Policy | undefined
  readonly errors: readonly DocumentError[]
  /** Places errors of fields at their lines. */
  readonly placed: (causes: readonly { readonly field: string; readonly message: string }[]) => readonly DocumentError[]
}

export function readDocument(text: string): PolicyText {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const at = (from: number, to: number, message: string): DocumentError => ({
    line: lines.linePos(from).line,
    from,
    to,
    message,
  })
  const beginning = (message: string): DocumentError => at(0, Math.min(1, text.length), message)
  const errors = document.errors.map(({ pos: [from, to], message }) => at(from, Math.min(to, text.length), message))
  const policy = errors.length > 0 ? undefined : policyIn(plainValue(document))
  const shape = policy === undefined ? [beginning("must be one policy, with `kind` and `metadata.name`")] : []
  return {
    value: policy,
    errors: errors.length > 0 ? errors : shape,
    placed: causes =>
      causes.map(({ field, message }) => {
        const [from, to] = rangeOf(document.contents, stepsOf(field)) ?? [0, Math.min(1, text.length)]
        return at(from, to, `${field}: ${message}`)
      }),
  }
}

/** Undefined if its aliases expand too much. */
function plainValue(document: Document.Parsed): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch {
    return undefined
  }
}

function policyIn(value: unknown): Policy | undefined {
  if (typeof value !== "object" || value === null) return undefined
  const { kind, metadata } = value as { readonly kind?: unknown; readonly metadata?: { readonly name?: unknown } }
  // Only two fields are checked. The cluster checks the rest.
  return typeof kind === "string" && typeof metadata?.name === "string" ? (value as Policy) : undefined
}

/** The steps of a path such as `spec.rules[0].to`. */
export function stepsOf(field: string): readonly (string | number)[] {
  return [...field.matchAll(/\[(\d+)\]|\[([^\]]*)\]|([^.[\]]+)/g)].map(([, index, key, name]) =>
    index === undefined ? (key ?? name ?? "") : Number(index),
  )
}

/** The range of the field, else of its nearest parent. */
function rangeOf(root: Node | null, steps: readonly (string | number)[]): readonly [number, number] | undefined {
  let node: Node | null | undefined = root
  let range: readonly [number, number] | undefined
  for (const step of steps) {
    let next: unknown
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
      if (pair === undefined) break
      next = pair.value
      const [from, to] = (pair.key as Node).range ?? [0, 0] // a scalar, as checked above
      range = [from, to]
    } else if (isSeq(node) && typeof step === "number") {
      next = node.items[step]
      const own = (next as Node | undefined)?.range
      if (own) range = [own[0], own[1]]
    } else break
    node = next as Node | undefined // items of maps and lists are nodes
  }
  return range
}
