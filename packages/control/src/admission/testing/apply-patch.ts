// SPDX-License-Identifier: Apache-2.0
// Applies a patch to an object, for the two operations that admission writes (RFC 6902).

import type { PatchOperation } from "../review.js"

type Container = Record<string, unknown>

export function patched<T>(object: T, patch: readonly PatchOperation[]): T {
  const copy = structuredClone(object)
  for (const { path, value } of patch) {
    const steps = path
      .split("/")
      .slice(1)
      .map(step => step.replaceAll("~1", "/").replaceAll("~0", "~"))
    const last = steps.pop() ?? ""
    let at = copy as Container // a JSON object with the shape of the path
    for (const step of steps) {
      const next = at[step]
      if (typeof next !== "object" || next === null)
        throw new Error(`the patch goes through \`${path}\`, which is not there`)
      at = next as Container
    }
    at[last] = structuredClone(value)
  }
  return copy
}
