// SPDX-License-Identifier: Apache-2.0
// Ephemeral containers of a running Pod, as `kubectl debug` adds them: they can be added but not changed or removed.

import { duplicate, type FieldError, forbidden, invalid, notFoundValue, required } from "../../meta/field-error.js"
import { labelErrors } from "../../meta/names.js"
import { asArray, asObject, asString, dig, equal, type JsonObject } from "../../value.js"

const PATH = "spec.ephemeralContainers"

export function validateEphemeral(pod: JsonObject, old: JsonObject): FieldError[] {
  const list = (object: JsonObject, key: string): JsonObject[] => asArray(dig(object, "spec", key)).map(asObject)
  const errors: FieldError[] = []
  const taken = new Set([...list(pod, "containers"), ...list(pod, "initContainers")].map(item => asString(item.name)))
  const targets = new Set(taken)
  const next = list(pod, "ephemeralContainers")
  next.forEach((container, i) => {
    const at = `${PATH}[${i}]`
    const name = asString(container.name)
    if (name === "") errors.push(required(`${at}.name`))
    else for (const why of labelErrors(name)) errors.push(invalid(`${at}.name`, name, why))
    if (taken.has(name)) errors.push(duplicate(`${at}.name`, name))
    taken.add(name)
    if (asString(container.image) === "") errors.push(required(`${at}.image`))
    const target = asString(container.targetContainerName)
    if (target !== "" && !targets.has(target)) errors.push(notFoundValue(`${at}.targetContainerName`, target))
  })
  const byName = new Map(next.map(item => [item.name, item]))
  for (const before of list(old, "ephemeralContainers")) {
    const now = byName.get(before.name)
    const name = JSON.stringify(asString(before.name))
    if (now === undefined) errors.push(forbidden(PATH, `existing ephemeral containers ${name} may not be removed\n`))
    else if (!equal(now, before))
      errors.push(forbidden(PATH, `existing ephemeral containers ${name} may not be changed\n`))
  }
  return errors
}
