// SPDX-License-Identifier: Apache-2.0
// The data of a Secret: decodes base64 to text and encodes it.

import type { KubernetesObject } from "../kubernetes/resource-type.js"

export function readSecretData({ data }: KubernetesObject): ReadonlyMap<string, string> {
  return new Map(textEntries(data).map(([name, value]) => [name, Buffer.from(value, "base64").toString("utf8")]))
}

export function writeSecretData(files: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  return Object.fromEntries([...files].map(([name, text]) => [name, Buffer.from(text, "utf8").toString("base64")]))
}

/** The data of a ConfigMap, which is plain text. */
export function readConfigMapData({ data }: KubernetesObject): ReadonlyMap<string, string> {
  return new Map(textEntries(data))
}

function textEntries(data: unknown): readonly (readonly [string, string])[] {
  if (typeof data !== "object" || data === null) return []
  return Object.entries(data).filter((entry): entry is [string, string] => typeof entry[1] === "string")
}
