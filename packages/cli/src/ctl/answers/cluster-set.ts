// SPDX-License-Identifier: Apache-2.0
// The policies and workloads of a running cluster, as the input of queries.

import type { ProofWorkload } from "@merlon/policy/proof"
import { KINDS, type PolicyDocument, validate } from "@merlon/policy/resources"
import { knownKinds } from "../catalog/known-kinds.js"
import { type AnyObject, coreResource, type Resource } from "../catalog/resource.js"
import { textsOf } from "../foreign.js"
import type { GetFlags } from "../get/get-flags.js"
import { listObjects } from "../get/read-list.js"
import { ofServed } from "../lookup/not-found.js"
import type { Session } from "../session.js"
import { isTargetingPolicy, notModelled } from "./dialect.js"
import type { InputLog, Scope } from "./inputs.js"
import { gatewayObjects, istioKinds } from "./istio-cluster.js"
import { gatewayNameOf, IstioProxies } from "./istio-proxies.js"
import {
  type IstioProxy,
  istioProxyOf,
  OTHERWISE,
  REVISION,
  whyPastSidecar,
  withoutProxyContainer,
} from "./istio-sidecar.js"
import { validateTargeting } from "./istio-targets.js"
import { workloadsIn } from "./workload-files.js"

const EVERYWHERE = { allNamespaces: true } as GetFlags // `listObjects` reads only filters of the flags, and there are none

export async function clusterPolicies(
  session: Session,
  log: Pick<InputLog, "skip" | "miss">,
): Promise<readonly PolicyDocument[]> {
  const policies: PolicyDocument[] = []
  const kinds = session.dialect === "istio" ? await istioKinds(session) : securityKinds(session)
  const stored = await ofServed(kinds, async resource => ({ resource, objects: await objectsOf(session, resource) }))
  for (const { resource, objects } of stored) {
    for (const object of objects) {
      const title = `${resource.kind} ${object.metadata.namespace}/${object.metadata.name}`
      const absent = session.dialect === "istio" ? notModelled(object, session.names) : undefined
      if (absent?.isWorkload) log.miss(`${title}: ${absent.why}`)
      else if (absent?.matters === true) log.skip(`${title}: ${absent.why}`, absent.scope)
      if (absent !== undefined) continue
      const { document, errors } = isTargetingPolicy(object, session.names)
        ? validateTargeting(object, session.names)
        : validate(object, session.names)
      if (document !== undefined) policies.push(document)
      else log.skip(`${title}: it cannot be read: ${errors[0]?.message}`)
    }
  }
  return policies
}

function securityKinds({ names }: Session): readonly Resource[] {
  const security = new Set(KINDS.filter(({ group }) => group === "security").map(({ kind }): string => kind))
  return knownKinds(names).filter(({ kind }) => security.has(kind))
}

export interface ClusterWorkloads {
  readonly workloads: readonly ProofWorkload[]
  /** Pods of Istio whose proxy decides in a way that is not modelled. */
  readonly unmodelled: readonly { readonly namespace: string; readonly why: string; readonly isAmbient: boolean }[]
  /** `NAMESPACE/NAME` of the Pods with a sidecar, by the Istio revision that configures it. */
  readonly revisions: ReadonlyMap<string, ReadonlySet<string>>
  /** The proxies of Gateways. Absent if the mesh is not Istio. */
  readonly proxies?: IstioProxies
  /** The number of Pods without a proxy of Istio, to which no policy applies. */
  readonly withoutProxy: number
}

export async function clusterWorkloads(
  session: Session,
  log: Pick<InputLog, "skip" | "miss">,
): Promise<ClusterWorkloads> {
  const alive = (await objectsOf(session, coreResource("pods", "Pod"))).filter(isAlive)
  const services = await objectsOf(session, coreResource("services", "Service"))
  const read = (pods: readonly AnyObject[]) => workloadsIn([...pods, ...services], session.names, session.namespace)
  if (session.dialect !== "istio") {
    return { workloads: read(alive), unmodelled: [], revisions: new Map(), withoutProxy: 0 }
  }
  const pods = alive.map(pod => ({ pod, proxy: istioProxyOf(pod) }))
  const of = (wanted: IstioProxy) => pods.flatMap(({ pod, proxy }) => (proxy === wanted ? [pod] : []))
  const proxies = new IstioProxies([...services, ...(await gatewayObjects(session))], session.namespace)
  const isOfGateway = ({ metadata: { namespace = "", labels } }: AnyObject): boolean => {
    const name = gatewayNameOf({ labels: textsOf(labels) })
    const gateway = name === undefined ? undefined : proxies.gateway(namespace, name)
    return gateway !== undefined && gateway.why === undefined
  }
  const unmodelled = (["gateway", "ambient"] as const).flatMap(proxy =>
    of(proxy)
      .filter(pod => !isOfGateway(pod))
      .map(({ metadata: { namespace = "", name } }) => {
        return {
          namespace,
          isAmbient: proxy === "ambient",
          why: `Pod ${namespace}/${name}: not modelled: it is ${OTHERWISE[proxy]}`,
        }
      }),
  )
  const sidecars = of("sidecar")
  const revisions = new Map<string, Set<string>>()
  for (const pod of sidecars) {
    const { namespace = "", name, annotations, labels } = pod.metadata
    const revision = textsOf(annotations)[REVISION] ?? textsOf(labels)[REVISION]
    if (revision !== undefined) {
      revisions.set(revision, (revisions.get(revision) ?? new Set()).add(`${namespace}/${name}`))
    }
    const why = whyPastSidecar(pod)
    const isPod: Scope = one => one.namespace === namespace && one.name === name
    if (why !== undefined) log.skip(`Pod ${namespace}/${name}: not modelled: ${why}`, isPod)
  }
  const gateways = of("gateway").filter(isOfGateway)
  const workloads = proxies.workloads(read([...sidecars, ...gateways].map(withoutProxyContainer)), log)
  return { workloads, unmodelled, revisions, proxies, withoutProxy: of("none").length }
}

function isAlive({ status }: AnyObject): boolean {
  const phase = typeof status === "object" && status !== null && "phase" in status ? status.phase : undefined
  return phase !== "Succeeded" && phase !== "Failed"
}

async function objectsOf(session: Session, resource: Resource): Promise<readonly AnyObject[]> {
  return (await listObjects(session, resource, EVERYWHERE)).items
}

export const idOf = ({ kind, metadata }: PolicyDocument): string => `${kind} ${metadata.namespace}/${metadata.name}`

/** The objects as the server would store them after the files are applied. */
export function overlaid(
  stored: readonly PolicyDocument[],
  applied: readonly PolicyDocument[],
): readonly PolicyDocument[] {
  const before = new Map(stored.map(document => [idOf(document), document]))
  const changed = applied.map(document => {
    // An existing object keeps its age, which decides between PeerAuthentications.
    const { creationTimestamp } = before.get(idOf(document))?.metadata ?? {}
    return creationTimestamp === undefined
      ? document
      : { ...document, metadata: { ...document.metadata, creationTimestamp } }
  })
  return [...new Map([...stored, ...changed].map(document => [idOf(document), document])).values()]
}
