// SPDX-License-Identifier: Apache-2.0
// The user's permissions, queried in advance: a button that would fail is disabled and says which role helps.

import { useQuery } from "@tanstack/react-query"
import { useSession } from "../shell/session.js"
import { api } from "./client.js"
import type { KindEntry } from "./kinds.js"
import type { ApiObject, List } from "./objects.js"

/** Namespaces are queried one by one. */
const MOST_NAMESPACES = 100

export interface AccessRequest {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly namespace?: string
}

interface Review {
  readonly status?: { readonly allowed?: boolean; readonly denied?: boolean }
}

/** Undefined until the cluster has answered. */
export function useMay(request: AccessRequest | undefined): boolean | undefined {
  const review = useQuery({
    queryKey: ["may", request],
    queryFn: () => request !== undefined && isAllowed(request),
    enabled: request !== undefined,
    staleTime: 60_000,
  })
  return review.data
}

async function isAllowed(request: AccessRequest): Promise<boolean> {
  const { status } = await api<Review>("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
    method: "POST",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: request },
    },
  })
  return status?.allowed === true && status.denied !== true
}

/** Where the user may create objects: everywhere (""), in one namespace, or nowhere (null); undefined until known. */
export function useWhereMayCreate(entry: KindEntry): string | null | undefined {
  const { names } = useSession()
  const request = { verb: "create", group: names[entry.group], resource: entry.plural }
  const everywhere = useMay(request)
  const some = useQuery({
    queryKey: ["may-somewhere", request],
    queryFn: async () => {
      const { items } = await api<List<ApiObject>>(`/api/v1/namespaces?limit=${MOST_NAMESPACES}`)
      for (const { metadata } of items)
        if (await isAllowed({ ...request, namespace: metadata.name })) return metadata.name
      return null
    },
    enabled: everywhere === false,
    staleTime: 60_000,
  })
  // Without permission to list namespaces, none is found.
  return everywhere ? "" : some.isError ? null : some.data
}

export function useMayWrite(entry: KindEntry | undefined, namespace: string | undefined): boolean | undefined {
  const { names } = useSession()
  const of = (verb: string): AccessRequest | undefined =>
    entry && { verb, group: names[entry.group], resource: entry.plural, ...(namespace && { namespace }) }
  const create = useMay(of("create"))
  const update = useMay(of("update"))
  if (create === false || update === false) return false
  return create && update
}

/** Whether the user may send queries that cost the control plane computing time, in all namespaces or in one. */
export function useMayAsk(resource: string, namespace?: string): boolean | undefined {
  return useMayAnswer("create", resource, namespace)
}

/** Whether the user may read recorded changes, which name users. */
export function useMayReadChanges(namespace?: string): boolean | undefined {
  return useMayAnswer("list", "changes", namespace)
}

function useMayAnswer(verb: string, resource: string, namespace?: string): boolean | undefined {
  const { names } = useSession()
  return useMay({ verb, group: names.answersGroup, resource, ...(namespace && { namespace }) })
}
