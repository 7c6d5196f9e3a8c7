// SPDX-License-Identifier: Apache-2.0
// The workloads of a query, from Pods or workload manifests. Namespace, labels, service account and ports matter.
// Services in the same files add the workload's host names, and the policies that target these Services.

import { applicationPorts, runnerOf, udpPorts } from "@merlon/control/registry"
import type { MeshNames } from "@merlon/policy/mesh"
import type { ProofWorkload } from "@merlon/policy/proof"
import { CommandError } from "../exit.js"
import { type Fields, fieldsOf, listOf, textOf, textsOf } from "../foreign.js"
import { visible } from "../terminal.js"

interface Template {
  readonly metadata: Fields
  readonly spec: Fields
}

export const POD_MAKERS: readonly string[] = [
  "Deployment",
  "StatefulSet",
  "DaemonSet",
  "Job",
  "ReplicaSet",
  "ReplicationController",
]

/** Objects of other kinds are ignored: manifests contain more than workloads. */
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
    if (seen.has(`${place}/${name}`))
      throw new CommandError("invalid-document", `the workload \`${place}/${name}\` is there twice`)
    seen.add(`${place}/${name}`)
  }
  return workloads
}

/** The Pod template of an object. Undefined for kinds without Pods. */
export function templateOf({ kind, metadata, spec }: Fields): Template | undefined {
  if (kind === "Pod") return { metadata: fieldsOf(metadata), spec: fieldsOf(spec) }
  const outer = kind === "CronJob" ? fieldsOf(fieldsOf(fieldsOf(spec).jobTemplate).spec) : fieldsOf(spec)
  if (kind !== "CronJob" && !POD_MAKERS.includes(textOf(kind) ?? "")) return undefined
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
  if (name === undefined)
    throw new CommandError("invalid-document", `a ${textOf(object.kind) ?? "workload"} has no \`metadata.name\``)
  const namespace = textOf(metadata.namespace) ?? otherwise
  const labels = textsOf(template.metadata.labels)
  const serviceAccount = textOf(template.spec.serviceAccountName) ?? "default"
  checkNames(textOf(object.kind) ?? "workload", { name, namespace, serviceAccount })
  checkLabels(name, labels)
  const leading = services.filter(service => leadsTo(service, namespace, labels, otherwise))
  for (const service of leading) checkNames("Service", fieldsOf(service.metadata))
  const runBy =
    object.kind === "Pod"
      ? runnerOf({ apiVersion: "v1", kind: "Pod", metadata: { ...metadata, namespace, name } })
      : undefined
  const datagrams = udpPorts(template.spec)
  const [host] = leading.map(service => hostBy(service, namespace))
  return {
    namespace,
    name,
    labels,
    services: leading.map(service => textOf(fieldsOf(service.metadata).name) ?? ""),
    ports: applicationPorts(template.spec, names).map(({ port }) => port),
    ...(datagrams.length === 0 ? {} : { udpPorts: datagrams }),
    serviceAccount,
    ...(runBy === undefined ? {} : { runBy }),
    ...(host === undefined ? {} : { host }),
  }
}

/** Names that Kubernetes allows (RFC 1123 section 2.1). Answers show them on terminals and in pull requests. */
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

function checkNames(kind: string, names: { readonly [field: string]: unknown }): void {
  for (const field of ["name", "namespace", "serviceAccount"]) {
    const value = names[field]
    if (typeof value !== "string" || NAME.test(value)) continue
    throw new CommandError(
      "invalid-document",
      `a ${visible(kind)} has the ${field} \`${visible(value)}\`, which is none: write lower case letters, digits, \`-\` and \`.\``,
    )
  }
}

function checkLabels(workload: string, labels: { readonly [key: string]: unknown }): void {
  for (const [key, value] of Object.entries(labels)) {
    const label = `${key}=${String(value)}`
    if (visible(label) === label) continue
    throw new CommandError(
      "invalid-document",
      `\`${workload}\` has the label \`${visible(label)}\`, with invisible characters; type it again`,
    )
  }
}

function leadsTo(service: Fields, namespace: string, labels: Fields, otherwise: string): boolean {
  const { type, selector } = fieldsOf(service.spec)
  const wanted = Object.entries(textsOf(selector))
  if ((textOf(fieldsOf(service.metadata).namespace) ?? otherwise) !== namespace) return false
  if (type === "ExternalName" || wanted.length === 0) return false
  return wanted.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
}

/** The host name and port of the Service. */
function hostBy({ metadata, spec }: Fields, namespace: string): string {
  const { port } = fieldsOf(listOf(fieldsOf(spec).ports)[0])
  const host = `${textOf(fieldsOf(metadata).name) ?? ""}.${namespace}`
  return typeof port === "number" && port !== 80 ? `${host}:${port}` : host
}
