// SPDX-License-Identifier: Apache-2.0
// Collects the facts about a workload: the control plane's report, rule usage, who can call it by proof, its callers, and
// how callers treat it. Each query uses the permissions of the current user, and its part is missing if they do not
// suffice.

import { ApiError } from "@merlon/control/kubernetes"
import { DocumentsByNamespace, type ProofWorkload, reachOf } from "@merlon/policy/proof"
import { type MeshService, validate } from "@merlon/policy/resources"
import { clusterPolicies } from "../answers/cluster-set.js"
import { InputLog } from "../answers/inputs.js"
import { limitsOf, type QuestionFlags } from "../answers/question-flags.js"
import { note } from "../answers/question-source.js"
import { reachJson } from "../answers/reach-report.js"
import { knownKinds } from "../catalog/known-kinds.js"
import { type Fields, fieldsOf, listOf, textOf, textsOf } from "../foreign.js"
import type { GetFlags } from "../get/get-flags.js"
import { listObjects } from "../get/read-list.js"
import { ofServed } from "../lookup/not-found.js"
import { clusterMesh } from "../mesh/mesh-settings.js"
import type { Session } from "../session.js"
import {
  type AnswersQuery,
  isNowhere,
  type Observation,
  observationOf,
  observedList,
  observedOne,
  observedPath,
} from "./answers-api.js"
import { type HostTraffic, hostTraffic } from "./host-traffic.js"

/** The value, or the reason why it is missing. */
export type Known<T> = { readonly known: T } | { readonly missing: string }

export interface WorkloadDescription {
  readonly workload: Observation
  /** Rules of the enforced policies that the user may read. */
  readonly rules: Known<readonly Observation[]>
  /** `result`, `ways` and `undecided` of `who-can`. */
  readonly callers: Known<Fields>
  readonly calls: Known<readonly Observation[]>
  /** The destinations that the workload calls, as counted by its own proxies. */
  readonly destinations: Known<readonly Observation[]>
  /** How callers treat its Services. */
  readonly traffic: Known<readonly HostTraffic[]>
}

export async function describeWorkload(
  session: Session,
  name: string,
  flags: QuestionFlags,
): Promise<WorkloadDescription> {
  const workload = await observedOne(session, { resource: "workloads", namespace: session.namespace, name })
  const { namespace } = workload
  const called = new URLSearchParams({ workload: textOf(workload.spec.workload) ?? workload.name, limit: "5000" })
  return {
    workload,
    rules: await known(() => rulesOf(session, workload)),
    callers: await known(() => callersOf(session, workload, flags)),
    calls: await known(() => itemsOf(session, { resource: "calls", namespace, query: called })),
    destinations: await known(() => destinationsOf(session, { resource: "destinations", namespace, query: called })),
    traffic: await known(() => trafficOf(session, workload)),
  }
}

async function known<T>(ask: () => Promise<T>): Promise<Known<T>> {
  try {
    return { known: await ask() }
  } catch (error) {
    if (isForbiddenOrLimited(error)) return { missing: error.message }
    if (isNowhere(error)) return { missing: "the control plane is of an older version; upgrade it" }
    throw error
  }
}

function isForbiddenOrLimited(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.code === 403 || error.code === 429)
}

async function itemsOf(session: Session, query: AnswersQuery): Promise<readonly Observation[]> {
  return (await observedList(session, query)).items
}

/** The destinations. Without the advice about a missing control plane: the workload was found, so there is one. */
async function destinationsOf(session: Session, query: AnswersQuery): Promise<readonly Observation[]> {
  const { items } = fieldsOf(await session.api.request({ method: "GET", path: observedPath(session, query) }))
  return listOf(items).map(observationOf)
}

/** Rules from the namespaces with enforced policies. Not every user may read those of the root namespace. */
async function rulesOf(session: Session, { namespace, spec }: Observation): Promise<readonly Observation[]> {
  const policies = listOf(spec.policies).map(policy => textOf(fieldsOf(policy).policy) ?? "")
  const places = new Set(policies.map(policy => policy.slice(0, policy.indexOf("/"))))
  const found: Observation[] = []
  for (const place of places) {
    const query = new URLSearchParams({ limit: "5000" })
    try {
      found.push(...(await itemsOf(session, { resource: "rules", namespace: place, query })))
    } catch (error) {
      if (!isForbiddenOrLimited(error) || place === namespace) throw error
    }
  }
  return found
}

/**
 * A root namespace that the user may not read is left out. MeshServices there apply only to hosts that have none of
 * their own.
 */
async function trafficOf(session: Session, { namespace, spec }: Observation): Promise<readonly HostTraffic[]> {
  const { rootNamespace } = session.names
  const documents: MeshService[] = []
  for (const place of new Set([namespace, rootNamespace])) {
    try {
      documents.push(...(await meshServicesIn(session, place)))
    } catch (error) {
      if (!isForbiddenOrLimited(error) || place === namespace) throw error
    }
  }
  const services = listOf(spec.services).flatMap(service => textOf(service) ?? [])
  return hostTraffic(services, documents, { namespace, rootNamespace })
}

async function meshServicesIn(session: Session, namespace: string): Promise<readonly MeshService[]> {
  const kinds = knownKinds(session.names).filter(({ kind }) => kind === "MeshService")
  // Of the flags, `listObjects` reads only filters, and there are none.
  const lists = await ofServed(kinds, kind => listObjects({ ...session, namespace }, kind, {} as GetFlags))
  return lists
    .flatMap(({ items }) => items)
    .map(object => validate(object, session.names).document)
    .filter(document => document?.kind === "MeshService")
}

/**
 * Computed by the control plane, which knows the mesh settings. Computed here if it has no time or the user lacks the
 * permission.
 */
async function callersOf(session: Session, workload: Observation, flags: QuestionFlags): Promise<Fields> {
  const { namespace, name } = workload
  try {
    const path = observedPath(session, { resource: "callers", namespace })
    const { status } = fieldsOf(
      await session.api.request({ method: "POST", path, body: { spec: { workload: `${namespace}/${name}` } } }),
    )
    const answer = fieldsOf(status)
    if (answer.result === "proved") return answer
  } catch (error) {
    if (!isForbiddenOrLimited(error)) throw error
  }
  const log = new InputLog()
  const mesh = await clusterMesh(session, flags, log, note)
  const proofWorkload = proofWorkloadOf(workload)
  const policies = await clusterPolicies(session, log)
  const { documents } = new DocumentsByNamespace(policies, mesh).selected(proofWorkload)
  const options = { limits: limitsOf(flags), now: Math.floor(Date.now() / 1000) }
  const reach = reachOf(documents, proofWorkload, mesh, {}, options)
  const asked = { workloads: [proofWorkload], mesh, read: log.of(policies.length, 1) }
  return fieldsOf(reachJson([{ workload: proofWorkload, reach }], asked))
}

const IDENTITY = /^spiffe:\/\/([^/]+)\/ns\/[^/]+\/sa\/(.+)$/

function proofWorkloadOf({ namespace, name, spec }: Observation): ProofWorkload {
  const account = IDENTITY.exec(textOf(spec.identity) ?? "")?.[2]
  const ports = listOf(spec.ports).map(port => Number(fieldsOf(port).port))
  return {
    ...{ namespace, name, labels: textsOf(spec.labels), ports },
    services: listOf(spec.services).flatMap(service => textOf(service) ?? []),
    ...(account === undefined ? {} : { serviceAccount: account }),
  }
}
