// SPDX-License-Identifier: Apache-2.0
// Whether every workload has its proxy and every proxy is current: proxies that lag or are disconnected, and Pods that
// lack a proxy.

import { type UnprotectedPod, unprotectedPods } from "@merlon/control/admission"
import type { KubernetesObject } from "@merlon/control/kubernetes"
import { isProxied } from "@merlon/control/registry"
import { type AnyObject, coreResource } from "../catalog/resource.js"
import { fieldsOf } from "../foreign.js"
import type { GetFlags } from "../get/get-flags.js"
import { listObjects } from "../get/read-list.js"
import { type Observation, observedList } from "../observed/answers-api.js"
import { isUpToDate, stateOf } from "../observed/tables.js"
import type { Session } from "../session.js"
import type { Checked } from "./checked.js"

const EVERYWHERE = { allNamespaces: true } as GetFlags // `listObjects` reads only filters, and there are none
const MAX_TOLD = 5

export async function checkProxies(session: Session): Promise<readonly Checked[]> {
  const query = new URLSearchParams({ limit: "5000" })
  const { items } = await observedList(session, { resource: "proxies", namespace: undefined, query })
  const pods = (await objects(session, "pods", "Pod")).filter(pod => isRunning(pod) && isProxied(pod, session.names))
  const connected = new Set(items.map(({ namespace, name }) => `${namespace}/${name}`))
  const away = pods.map(keyOf).filter(key => !connected.has(key))
  const late = items.filter(item => !isUpToDate(item))
  if (away.length + late.length === 0) {
    return [
      { what: "proxies", verdict: "well", detail: `${items.length} of ${items.length} are connected and up to date` },
    ]
  }
  return [
    ...listed(late, "proxies", lateLine),
    ...listed(away, "proxies", key => ({
      what: "proxies",
      verdict: "wrong",
      detail: `${key} is not connected; it enforces what it had last`,
      next: `see what its xserver says: \`kubectl logs -n ${key.replace("/", " ")} -c ${session.names.mesh}-xserver\``,
    })),
  ]
}

export async function checkPods(session: Session): Promise<readonly Checked[]> {
  const [pods, namespaces] = [await objects(session, "pods", "Pod"), await objects(session, "namespaces", "Namespace")]
  const found = unprotectedPods(pods, namespaces, session.names)
  if (found.length === 0) return [{ what: "pods", verdict: "well", detail: "none lacks the proxy that it was to have" }]
  return listed(found, "pods", ({ namespace, name, problem, fix }: UnprotectedPod) => ({
    what: "pods",
    verdict: "wrong",
    detail: `${namespace}/${name} ${problem}`,
    next: fix,
  }))
}

function lateLine({ namespace, name, spec }: Observation): Checked {
  const next = `\`merlonctl proxy status -n ${namespace}\` shows whether it catches up`
  return { what: "proxies", verdict: "wrong", detail: `${namespace}/${name}: ${stateOf(spec)}`, next }
}

function listed<T>(found: readonly T[], what: Checked["what"], line: (one: T) => Checked): readonly Checked[] {
  const more = found.length - MAX_TOLD
  return [
    ...found.slice(0, MAX_TOLD).map(line),
    ...(more > 0 ? [{ what, verdict: "note" as const, detail: `and ${more} more` }] : []),
  ]
}

async function objects(session: Session, plural: string, kind: string): Promise<readonly KubernetesObject[]> {
  const { items } = await listObjects(session, coreResource(plural, kind, kind !== "Namespace"), EVERYWHERE)
  return items
}

const isRunning = ({ status }: AnyObject): boolean => fieldsOf(status).phase === "Running"
const keyOf = ({ metadata }: KubernetesObject): string => `${metadata.namespace ?? ""}/${metadata.name}`
