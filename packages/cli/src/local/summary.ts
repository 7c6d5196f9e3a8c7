// SPDX-License-Identifier: Apache-2.0
// The summary after a mesh has started: its addresses, and what to try next.

import { relative } from "node:path"
import { Columns } from "../ctl/output/columns.js"
import { paint } from "../ctl/terminal.js"
import { shellWord } from "../shell-word.js"
import type { MeshRecord } from "./record/mesh-record.js"

export interface SummaryPlace {
  /** An absolute path. */
  readonly data: string
  readonly cwd: string
  /** How to type `merlonctl` here. */
  readonly merlonctl: string
  /** The folder of the samples. */
  readonly samples: string | undefined
}

export function summaryText(record: MeshRecord, place: SummaryPlace): string {
  const { ports, workloads } = record
  const rows = [
    ["NAMESPACE", "WORKLOAD", "PROXY", "APPLICATION", "IDENTITY"],
    ...workloads.map(({ namespace, name, serves, serviceAccount, place: at }) => [
      namespace,
      name,
      serves ? `${at.address}:${at.xserver}` : "-",
      serves ? `${at.address}:${at.application}` : "-",
      `ns/${namespace}/sa/${serviceAccount}`,
    ]),
  ]
  const [head = "", ...body] = new Columns().format(rows).split(/(?<=\n)/)
  const lines = [
    `The control plane answers at https://127.0.0.1:${ports.api} (API), :${ports.mesh} (proxies), http://127.0.0.1:${ports.health} (health).`,
    ...(ports.console === undefined
      ? []
      : [`The console is at http://127.0.0.1:${ports.console}/; \`${place.merlonctl} dashboard\` opens it signed in.`]),
    ...record.ingressPorts.map(
      ({ service, port }) => `Callers from outside reach ${service} at http://127.0.0.1:${port}.`,
    ),
    `State and logs are in ${shown(place.data, place.cwd)}.`,
  ]
  return [
    "",
    ...(workloads.length === 0 ? [] : [`${paint.bold(head.trimEnd())}\n${body.join("")}`]),
    ...lines,
    "",
    ...environment(record, place),
    "",
    "Try:",
    ...attempts(record, place).map(line => `  ${line}`),
    "",
  ].join("\n")
}

function environment({ mesh, domain }: MeshRecord, { data, cwd }: SummaryPlace): readonly string[] {
  const kubeconfig = `${data}/kubeconfig`
  return [
    `export KUBECONFIG=${shellWord(kubeconfig)}`,
    ...(mesh === "merlon" ? [] : [`export MERLON_MESH=${shellWord(mesh)}`]),
    ...(domain === "merlon.dev" ? [] : [`export MERLON_DOMAIN=${shellWord(domain)}`]),
    ...(isDefault(data, cwd) ? [] : [`export MERLON_DATA=${shellWord(data)}`]),
  ]
}

function attempts(record: MeshRecord, { cwd, merlonctl, samples }: SummaryPlace): readonly string[] {
  const httpbin = record.ingressPorts.find(({ service }) => service === "httpbin.foo")
  if (httpbin === undefined || samples === undefined) {
    return [`${merlonctl} get namespaces`, `${merlonctl} status`, `${merlonctl} get policies -A`]
  }
  const policy = shellWord(shown(`${samples}/policies/peer-strict.yaml`, cwd))
  return [
    `curl http://127.0.0.1:${httpbin.port}/headers`,
    `${merlonctl} exec consumer -n app -- xclient --print-route`,
    // The samples' policies use our default API groups.
    record.domain === "merlon.dev"
      ? `${merlonctl} apply -f ${policy}   # and then the first one again`
      : `${merlonctl} get pods -A`,
  ]
}

function isDefault(data: string, cwd: string): boolean {
  return relative(cwd, data) === ".merlon"
}

/** Relative to the current folder if it is inside of it. */
function shown(path: string, cwd: string): string {
  const near = relative(cwd, path)
  return near === "" || near.startsWith("..") ? path : near
}
