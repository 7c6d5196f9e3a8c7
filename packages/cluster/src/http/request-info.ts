// SPDX-License-Identifier: Apache-2.0
//
// The grammar of Kubernetes paths: /api/v1/... and /apis/GROUP/VERSION/..., with or without a namespace, name and
// subresource, and the old /watch/ prefix. Everything else is a non-resource path.

export interface ResourceRequest {
  readonly kind: "resource"
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly namespace: string
  /** Whether the path contains /namespaces/NS/. */
  readonly namespaced: boolean
  readonly name: string
  readonly subresource: string
  /** Segments after the subresource, which only proxy requests would have. */
  readonly rest: readonly string[]
  readonly watchPrefix: boolean
  readonly verb: string
}

export interface PathRequest {
  readonly kind: "path"
  readonly path: string
  readonly verb: string
}

const namespaceSubresources = new Set(["status", "finalize"])

export function parseRequest(method: string, path: string, query: URLSearchParams): ResourceRequest | PathRequest {
  const nonResource: PathRequest = { kind: "path", path, verb: method.toLowerCase() }
  if (path.startsWith("//")) return nonResource
  const parts = path
    .split("/")
    .filter(part => part !== "")
    .map(decode)
  const [prefix, ...afterPrefix] = parts
  let group = ""
  let rest: string[]
  if (prefix === "api" && afterPrefix.length >= 2) rest = afterPrefix
  else if (prefix === "apis" && afterPrefix.length >= 3) {
    group = afterPrefix[0] ?? ""
    rest = afterPrefix.slice(1)
  } else return nonResource
  const version = rest.shift() ?? ""
  let watchPrefix = false
  if (rest[0] === "watch" && rest.length > 1) {
    watchPrefix = true
    rest = rest.slice(1)
  }
  let namespace = ""
  let namespaced = false
  if (rest[0] === "namespaces" && rest.length > 1) {
    namespace = rest[1] ?? ""
    if (rest.length > 2 && !namespaceSubresources.has(rest[2] ?? "")) {
      namespaced = true
      rest = rest.slice(2)
    }
  }
  const [resource = "", name = "", subresource = "", ...more] = rest
  return {
    kind: "resource",
    group,
    version,
    resource,
    namespace,
    namespaced,
    name,
    subresource,
    rest: more,
    watchPrefix,
    verb: verbOf(method, name, watchPrefix, query),
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // A segment with a malformed escape is a name that no object has.
    return part
  }
}

function verbOf(method: string, name: string, watchPrefix: boolean, query: URLSearchParams): string {
  switch (method) {
    case "POST":
      return "create"
    case "GET":
    case "HEAD": {
      if (watchPrefix) return "watch"
      const watch = query.get("watch")
      if (name !== "") return "get"
      return watch !== null && watch !== "false" && watch !== "0" ? "watch" : "list"
    }
    case "PUT":
      return "update"
    case "PATCH":
      return "patch"
    case "DELETE":
      return name === "" ? "deletecollection" : "delete"
    default:
      return ""
  }
}
