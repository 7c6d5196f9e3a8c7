// SPDX-License-Identifier: Apache-2.0
// The workloads that a question is about, from Pods or from what makes Pods. Namespace, labels, service account and ports
// count; Services beside them say what callers call the workload.

import type { MeshNames, ProofWorkload } from "@merlon/policy"
import { CommandError } from "../exit.js"
import { type Fields, fieldsOf, listOf, textOf, textsOf } from "../foreign.js"

interface Template {
  readonly metadata: Fields
  readonly spec: Fields
}

const FROM_TEMPLATE = ["Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet", "ReplicationController"]

/** Objects of other kinds are passed over: a file of manifests holds more than workloads. */
export function workloadsIn(
  objects: readonly unknown[],
  names: MeshNames,
  namespace: string,
): readonly ProofWorkload[] {
  const services = objects.map(fieldsOf).filter(({ kind }) => kind === "Service")
  const workloads = objects.map(fieldsOf).flatMap(object => {
    const template = templateOf(object)
    return template === undefined ? [] : [workloadOf(object, template, services, names, namespace)]
  })
  const seen = new Set<string>()
  for (const { namespace: place, name } of workloads) {
    if (seen.has(`${place}/${name}`)) throw new CommandError(`the workload \`${place}/${name}\` is there twice`)
    seen.add(`${place}/${name}`)
  }
  return workloads
}

function templateOf({ kind, metadata, spec }: Fields): Template | undefined {
  if (kind === "Pod") return { metadata: fieldsOf(metadata), spec: fieldsOf(spec) }
  const outer = kind === "CronJob" ? fieldsOf(fieldsOf(fieldsOf(spec).jobTemplate).spec) : fieldsOf(spec)
  if (kind !== "CronJob" && !FROM_TEMPLATE.includes(textOf(kind) ?? "")) return undefined
  const template = fieldsOf(outer.template)
  return { metadata: fieldsOf(template.metadata), spec: fieldsOf(template.spec) }
}

function workloadOf(
  object: Fields,
  template: Template,
  services: readonly Fields[],
  names: MeshNames,
  otherwise: string,
): ProofWorkload {
  const metadata = fieldsOf(object.metadata)
  const name = textOf(metadata.name)
  if (name === undefined) throw new CommandError(`a ${textOf(object.kind) ?? "workload"} has no \`metadata.name\``)
  const namespace = textOf(metadata.namespace) ?? otherwise
  const labels = textsOf(template.metadata.labels)
  const host = services.flatMap(service => hostBy(service, namespace, labels, otherwise))[0]
  return {
    namespace,
    name,
    labels,
    ports: portsOf(template.spec, names),
    serviceAccount: textOf(template.spec.serviceAccountName) ?? "default",
    ...(host === undefined ? {} : { host }),
  }
}

/** TCP ports of all containers but the proxy's own. */
function portsOf({ containers }: Fields, { mesh }: MeshNames): readonly number[] {
  const ports = listOf(containers)
    .map(fieldsOf)
    .filter(({ name }) => name !== `${mesh}-xserver`)
    .flatMap(container => listOf(container.ports).map(fieldsOf))
    .filter(({ protocol }) => protocol === undefined || protocol === "TCP")
    .map(({ containerPort }) => containerPort)
  return [...new Set(ports.filter((port): port is number => typeof port === "number" && Number.isInteger(port)))]
}

/** The name and port of a Service that leads to such Pods. */
function hostBy(service: Fields, namespace: string, labels: Fields, otherwise: string): readonly string[] {
  const metadata = fieldsOf(service.metadata)
  const { selector, ports } = fieldsOf(service.spec)
  const wanted = Object.entries(textsOf(selector))
  if ((textOf(metadata.namespace) ?? otherwise) !== namespace || wanted.length === 0) return []
  if (!wanted.every(([key, value]) => labels[key] === value)) return []
  const { port } = fieldsOf(listOf(ports)[0])
  const host = `${textOf(metadata.name) ?? ""}.${namespace}`
  return [typeof port === "number" && port !== 80 ? `${host}:${port}` : host]
}
