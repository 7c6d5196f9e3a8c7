// SPDX-License-Identifier: Apache-2.0
// The diff in the error of a rejected Pod update: both specs printed and compared line by line, with three lines of
// context. Kubernetes prints its internal Go structs; this server prints the same lines with capitalised JSON names.

import { asArray, asObject, isObject, type Json } from "../../value.js"
import { type TypeNode, typeNamed } from "../type-table.js"

function goName(json: string): string {
  const special: Record<string, string> = {
    tty: "TTY",
    podIP: "PodIP",
    hostPID: "HostPID",
    hostIPC: "HostIPC",
    dnsPolicy: "DNSPolicy",
    dnsConfig: "DNSConfig",
    env: "Env",
    stdin: "Stdin",
  }
  return special[json] ?? (json[0] ?? "").toUpperCase() + json.slice(1)
}

function print(node: TypeNode, value: Json | undefined, pad: string): string {
  if (node.kind === "pointer") return value === undefined || value === null ? "null" : print(node.elem, value, pad)
  const inner = `${pad} `
  switch (node.kind) {
    case "struct": {
      const object = asObject(value)
      const fields = node.fields.map(
        field => `${inner}"${goName(field.name)}": ${print(field.type, object[field.name], inner)}`,
      )
      return fields.length === 0 ? "{}" : `{\n${fields.join(",\n")}\n${pad}}`
    }
    case "list": {
      const items = asArray(value)
      if (items.length === 0) return "null"
      return `[\n${items.map(item => inner + print(node.elem, item, inner)).join(",\n")}\n${pad}]`
    }
    case "map":
      if (!isObject(value)) return "null"
      return `{\n${Object.keys(value)
        .sort()
        .map(key => `${inner}"${key}": ${print(node.elem, value[key], inner)}`)
        .join(",\n")}\n${pad}}`
    case "string":
      return JSON.stringify(value ?? "")
    case "bool":
      return JSON.stringify(value ?? false)
    case "int32":
    case "int64":
    case "float":
      return JSON.stringify(value ?? 0)
    default:
      return JSON.stringify(value ?? null)
  }
}

export function diffInternal(before: Json, after: Json): string {
  const type = typeNamed("io.k8s.api.core.v1.PodSpec")
  const a = print(type, before, "").split("\n")
  const b = print(type, after, "").split("\n")
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  const from = Math.max(0, start - 3)
  const lines = [
    ...a.slice(from, start).map(line => ` ${line}`),
    ...a.slice(start, a.length - end).map(line => `-${line}`),
    ...b.slice(start, b.length - end).map(line => `+${line}`),
    ...a.slice(a.length - end, a.length - end + 3).map(line => ` ${line}`),
  ]
  const oldCount = start - from + (a.length - end - start) + Math.min(3, end)
  const newCount = start - from + (b.length - end - start) + Math.min(3, end)
  return `@@ -${from + 1},${oldCount} +${from + 1},${newCount} @@\n${lines.join("\n")}\n`
}
