// SPDX-License-Identifier: Apache-2.0
// Objects as a store would return them, for tests of code that only reads.

import { Catalog } from "../registry/catalog.js"
import { keyOf } from "../registry/kind.js"
import { Entry, type Store } from "../store/store.js"
import { asString, dig, type JsonObject } from "../value.js"
import { stringify } from "../wire/json.js"

export type Reader = Pick<Store, "get" | "range">

export const catalog = new Catalog()

export function stored(objects: readonly JsonObject[]): Reader {
  const entries = objects
    .map((object, i) => {
      const kind = catalog.byKind(asString(object.apiVersion), asString(object.kind))
      if (kind === undefined) throw new Error(`no kind ${asString(object.kind)} in ${asString(object.apiVersion)}`)
      const at = (field: string): string => asString(dig(object, "metadata", field))
      return new Entry(keyOf(kind.info, at("namespace"), at("name")), stringify(object), i + 1, i + 1)
    })
    .sort((a, b) => (a.key < b.key ? -1 : 1))
  return {
    get: key => Promise.resolve(entries.find(entry => entry.key === key)),
    range: ({ prefix }) =>
      Promise.resolve({
        entries: entries.filter(entry => entry.key.startsWith(prefix)),
        revision: entries.length,
        remaining: 0,
      }),
  }
}

const RBAC = "rbac.authorization.k8s.io"

export interface Grant {
  readonly verbs: string[]
  readonly apiGroups?: string[]
  readonly resources?: string[]
  readonly resourceNames?: string[]
  readonly nonResourceURLs?: string[]
}

/** A role and its binding to one user; without a namespace, a cluster role. */
export function granted(user: string, name: string, rules: readonly Grant[], namespace = ""): JsonObject[] {
  const kind = namespace === "" ? "ClusterRole" : "Role"
  const metadata = namespace === "" ? { name } : { name, namespace }
  return [
    { apiVersion: `${RBAC}/v1`, kind, metadata, rules: rules.map(rule => ({ apiGroups: [""], ...rule })) },
    {
      ...{ apiVersion: `${RBAC}/v1`, kind: `${kind}Binding`, metadata },
      roleRef: { apiGroup: RBAC, kind, name },
      subjects: [{ kind: "User", name: user, apiGroup: RBAC }],
    },
  ]
}
