// SPDX-License-Identifier: Apache-2.0
// The page's queries, cached and refreshed while the page is visible.

import { type Query, type UseQueryResult, useQueries, useQuery } from "@tanstack/react-query"
import { useSession } from "../shell/session.js"
import { trustDomainOf } from "../ui/names.js"
import { type Answer, isCutShort, type WorkloadReport } from "./answers.js"
import { api, type Names } from "./client.js"
import { KINDS, type KindEntry, kindNamed, pathOf } from "./kinds.js"
import type { ApiObject, List, Pod, Policy } from "./objects.js"

const SOON_MS = 3_000
/** The interval for large data that seldom changes. */
const LATER_MS = 15_000
/** The limit of queries for an answer that ran out of time. */
const MOST_ASKED = 5
const ANSWERS_VERSION = "v1alpha1"
/** The limit of shown items. Lists say if there are more. */
const MOST = 5_000
export const MOST_PODS = MOST
/** Longer lists are refreshed less often, because they cost both sides more and users do not read them completely. */
const MANY = 200

export interface KindPolicies {
  readonly entry: KindEntry
  readonly query: UseQueryResult<readonly Policy[], Error>
}

/** All policies of each kind, in the order of `KINDS`. */
export function useAllPolicies(): readonly KindPolicies[] {
  const { names } = useSession()
  const queries = useQueries({
    queries: KINDS.map(entry => ({
      queryKey: ["policies", entry.kind],
      queryFn: async () => (await api<List<Policy>>(pathOf(names, entry))).items,
      refetchInterval: ({ state }: { readonly state: { readonly data?: readonly Policy[] | undefined } }) =>
        (state.data?.length ?? 0) > MANY ? LATER_MS : SOON_MS,
    })),
  })
  return KINDS.flatMap((entry, index) => {
    const query = queries[index]
    return query === undefined ? [] : [{ entry, query }]
  })
}

/** The cache key of one policy. The value is the response of the API, with its kind. */
export function policyKey(names: Names, { kind, metadata }: Policy): readonly unknown[] {
  const entry = kindNamed(kind)
  return ["policy", entry && pathOf(names, entry, metadata.namespace, metadata.name)]
}

export function usePods(): UseQueryResult<readonly Pod[], Error> {
  return useQuery({
    queryKey: ["pods"],
    queryFn: async () => (await api<List<Pod>>(`/api/v1/pods?limit=${MOST}`)).items,
    refetchInterval: LATER_MS,
  })
}

/** Names of namespaces that the user may list; else of those with Pods. */
export function useNamespaces(): readonly string[] {
  const { data } = useQuery({
    queryKey: ["namespaces"],
    queryFn: async () => (await api<List<ApiObject>>(`/api/v1/namespaces?limit=${MOST}`)).items,
    refetchInterval: LATER_MS,
  })
  const pods = usePods()
  const found = data?.map(({ metadata }) => metadata.name) ?? pods.data?.map(({ metadata }) => metadata.namespace ?? "")
  return [...new Set(found ?? [])].sort()
}

export function answersPath({ answersGroup }: Names, resource: string, namespace?: string): string {
  const where = namespace === undefined ? "" : `/namespaces/${namespace}`
  return `/apis/${answersGroup}/${ANSWERS_VERSION}${where}/${resource}`
}

export interface AnswersOptions {
  /** All namespaces if absent. */
  readonly namespace?: string | undefined
  /** Refreshes less often an answer that is expensive for the control plane. */
  readonly seldom?: boolean
  readonly enabled?: boolean
}

/** The query of the overview. */
export const LAST_CHANGE = "changes?limit=1"

/** `resource` with its query, such as `calls?since=1d`. `N` is the type of the list's metadata. */
export function useAnswers<T, N = unknown>(
  resource: string,
  { namespace, seldom = false, enabled = true }: AnswersOptions = {},
): UseQueryResult<List<Answer<T>> & N, Error> {
  const { names } = useSession()
  const [name = "", search = ""] = resource.split("?")
  const asked = new URLSearchParams(search)
  if (!asked.has("limit")) asked.set("limit", String(MOST))
  return useQuery({
    queryKey: ["answers", resource, namespace],
    queryFn: () => api<List<Answer<T>> & N>(`${answersPath(names, name, namespace)}?${asked.toString()}`),
    enabled,
    refetchInterval: ({ state }) => (seldom || (state.data?.items.length ?? 0) > MANY ? LATER_MS : SOON_MS),
  })
}

/** The default (`merlond serve --trust-domain`). */
const DEFAULT_TRUST_DOMAIN = "cluster.local"

/** The trust domain of the mesh, from a workload's identity. Undefined until it is known. */
export function useTrustDomain(): string | undefined {
  const { names } = useSession()
  const { data, isError } = useQuery({
    queryKey: ["answers", "trust domain"],
    queryFn: async () => {
      const { items } = await api<List<Answer<WorkloadReport>>>(`${answersPath(names, "workloads")}?limit=1`)
      return trustDomainOf(items[0]?.spec.identity) ?? DEFAULT_TRUST_DOMAIN
    },
    staleTime: LATER_MS,
  })
  return data ?? (isError ? DEFAULT_TRUST_DOMAIN : undefined)
}

/** One answer by its name. */
export function useAnswer<T>(resource: string, namespace: string, name: string): UseQueryResult<Answer<T>, Error> {
  const { names } = useSession()
  return useQuery({
    queryKey: ["answers", resource, namespace, name],
    queryFn: () => api<Answer<T>>(`${answersPath(names, resource, namespace)}/${encodeURIComponent(name)}`),
    refetchInterval: SOON_MS,
  })
}

/** Sends one query that requires an evaluation or a proof. */
export async function postQuestion<T>(
  names: Names,
  resource: string,
  spec: object,
  { signal, namespace }: { readonly signal?: AbortSignal; readonly namespace?: string | undefined } = {},
): Promise<T> {
  const sent = { method: "POST" as const, body: { spec }, ...(signal && { signal }) }
  const { status } = await api<{ readonly status: T }>(answersPath(names, resource, namespace), sent)
  return status
}

/** The same as a hook, for one namespace or for all. */
export function useQuestion<T>(
  resource: string,
  spec: object | undefined,
  namespace?: string,
): UseQueryResult<T, Error> {
  const { names } = useSession()
  return useQuery(questionOptions<T>(names, resource, spec, namespace))
}

/** Several queries of one resource. */
export function useQuestions<T>(resource: string, specs: readonly object[]): readonly UseQueryResult<T, Error>[] {
  const { names } = useSession()
  return useQueries({ queries: specs.map(spec => questionOptions<T>(names, resource, spec)) })
}

function questionOptions<T>(names: Names, resource: string, spec: object | undefined, namespace?: string) {
  return {
    queryKey: ["asked", resource, spec, namespace],
    queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
      postQuestion<T>(names, resource, spec ?? {}, { signal, namespace }),
    enabled: spec !== undefined,
    staleTime: LATER_MS,
    refetchInterval: ({ state }: Query<T>) =>
      isCutShort(state.data) && state.dataUpdateCount < MOST_ASKED ? SOON_MS : (false as const),
  }
}
