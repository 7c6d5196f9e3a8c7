// SPDX-License-Identifier: Apache-2.0
//
// JSON merge patch (RFC 7386): objects merge, null deletes, everything else replaces. The target is not changed.

import { getKey, isObject, type Json, type JsonObject, setKey } from "../value.js"

export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch
  const base = isObject(target) ? target : {}
  const out: JsonObject = {}
  // Go's implementation prints changed objects with sorted keys, and error messages quote them.
  const keys = [...new Set([...Object.keys(base), ...Object.keys(patch)])].sort()
  for (const key of keys) {
    const change = getKey(patch, key)
    if (change === undefined) setKey(out, key, base[key] ?? null)
    else if (change !== null) setKey(out, key, mergePatch(getKey(base, key), change))
  }
  return out
}
