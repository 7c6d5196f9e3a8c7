// SPDX-License-Identifier: Apache-2.0
// The API paths that a page may request: our own kinds and answers, and what is needed to show them. The rest is
// rejected here, whatever the user's permissions are: through `proxy` or `exec`, a workload would respond with the
// console's origin.

export interface PathNames {
  /** The API group of the three security kinds and of invariants. */
  readonly securityGroup: string
  readonly networkingGroup: string
  readonly answersGroup: string
}

const NAME = "[A-Za-z0-9][A-Za-z0-9.:_-]*"
const VERSION = "v[a-z0-9]+"
const READ = new Set(["GET"])
const ASK = new Set(["POST"])
const ALL = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"])

interface Permission {
  readonly path: RegExp
  readonly methods: ReadonlySet<string>
}

export class AllowedPaths {
  readonly #permissions: readonly Permission[]

  constructor({ securityGroup, networkingGroup, answersGroup }: PathNames) {
    const own = [securityGroup, networkingGroup].map(escaped).join("|")
    const namespaced = `(?:/namespaces/${NAME})?`
    this.#permissions = [
      { path: whole(`/apis/(?:${own})/${VERSION}${namespaced}/[a-z]+(?:/${NAME})?`), methods: ALL },
      { path: whole(`/apis/(?:${own})/${VERSION}`), methods: READ },
      { path: whole(`/apis/${escaped(answersGroup)}/${VERSION}(?:/.*)?`), methods: new Set(["GET", "POST"]) },
      { path: whole(`/apis/authorization\\.k8s\\.io/v1/selfsubject(?:access|rules)reviews`), methods: ASK },
      { path: whole("/apis/authentication\\.k8s\\.io/v1/selfsubjectreviews"), methods: ASK },
      { path: whole(`/api/v1${namespaced}/(?:namespaces|pods|services|events|serviceaccounts)`), methods: READ },
      { path: whole(`/apis/apiextensions\\.k8s\\.io/v1/customresourcedefinitions/${NAME}`), methods: READ },
      { path: whole(`/openapi/v3(?:/apis/(?:${own})/${VERSION})?`), methods: READ },
      { path: whole("/version"), methods: READ },
    ]
  }

  /** Undefined if the request is allowed; else the reason why not. */
  rejection(method: string, target: string): string | undefined {
    const path = target.split("?", 1)[0] ?? ""
    // The API decodes and normalizes paths, so an encoded path could be another one there.
    if (/[%\\]|\/\/|\/\.{1,2}(?:\/|$)/.test(path)) return "the path is not spelled plainly"
    const permission = this.#permissions.find(({ path: allowed }) => allowed.test(path))
    if (permission === undefined) return "the console asks for nothing there"
    return permission.methods.has(method) ? undefined : `the console does not ${method} there`
  }
}

function whole(source: string): RegExp {
  return new RegExp(`^${source}$`)
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
}
