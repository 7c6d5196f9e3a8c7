// SPDX-License-Identifier: Apache-2.0
// When an object was last written, in milliseconds, ignoring writes of its status; 0 if the object does not show it.

import { listOf, objectOf, textOf } from "../registry/foreign.js"
import type { KubernetesObject } from "./resource-type.js"

export function writtenAt({ metadata }: KubernetesObject): number {
  const times = listOf(metadata.managedFields).flatMap(entry => {
    const { time, subresource } = objectOf(entry)
    return subresource === "status" ? [] : [Date.parse(textOf(time) ?? "")]
  })
  const known = [Date.parse(metadata.creationTimestamp ?? ""), ...times].filter(Number.isFinite)
  return known.length === 0 ? 0 : Math.max(...known)
}
