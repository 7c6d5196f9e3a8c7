// SPDX-License-Identifier: Apache-2.0
// Restores a Service that capture pointed at xserver: a JSON patch, or undefined if nothing was changed. The server
// rejects it if the port was edited meanwhile.

import type { MeshNames } from "@merlon/policy/mesh"
import type { AnyObject } from "../catalog/resource.js"
import { type Fields, fieldsOf, listOf, textOf } from "../foreign.js"

export function restoredPorts(service: AnyObject, { domain }: MeshNames): readonly object[] | undefined {
  const annotation = `${domain}/original-target-ports`
  const text = textOf(fieldsOf(service.metadata.annotations)[annotation])
  if (text === undefined) return undefined
  const originals = read(text)
  const ports = listOf(fieldsOf(service.spec).ports).map(fieldsOf)
  const changes = ports.flatMap(({ port, targetPort }, at) => {
    const original = originals[String(port)]
    if (typeof original !== "number" && typeof original !== "string") return []
    const path = `/spec/ports/${at}/targetPort`
    return [
      { op: "test", path, value: targetPort },
      { op: "replace", path, value: original },
    ]
  })
  return [...changes, { op: "remove", path: `/metadata/annotations/${annotation.replaceAll("/", "~1")}` }]
}

function read(text: string): Fields {
  try {
    return fieldsOf(JSON.parse(text))
  } catch {
    // The annotation is not ours. It is removed, and the ports stay.
    return {}
  }
}
