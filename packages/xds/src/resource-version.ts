// SPDX-License-Identifier: Apache-2.0
// Derives the version of a resource from its contents. Control plane and proxy use the same function, so a proxy that
// read altered contents from disk reports another version and gets the resource again.

import type { ProxyResource } from "./proxy-resource.js"
import { contentVersion } from "./runtime/canonical-json.js"
import { trustVersion } from "./trust-version.js"

export function resourceVersion(resource: ProxyResource): string {
  switch (resource.kind) {
    case "workload":
      return contentVersion(resource.workload)
    case "policy":
      return contentVersion(resource.document)
    case "keySet":
      return contentVersion(resource.keySet)
    case "trust":
      return trustVersion(resource.trust)
  }
}
