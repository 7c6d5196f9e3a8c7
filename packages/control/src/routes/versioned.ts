// SPDX-License-Identifier: Apache-2.0
// A resource whose version is derived from its contents, so that all replicas give equal contents the same version.

import { createHash } from "node:crypto"
import type { VersionedResource } from "@merlon/xds/server"

export function contentVersioned(name: string, value: Uint8Array): VersionedResource {
  return { name, version: createHash("sha256").update(value).digest("base64url").slice(0, 16), value }
}
