// SPDX-License-Identifier: Apache-2.0
// The status of a local mesh: the reports of its processes, compared with the record.

import { certificateFacts } from "@merlon/identity"
import { fieldsOf, listOf, textOf } from "../../ctl/foreign.js"
import { httpGet } from "../processes/http-get.js"
import { isRunning } from "../processes/process-identity.js"
import { lockHolder } from "./mesh-lock.js"
import type { IngressPortRecord, MeshRecord, Phase, Place, WorkloadRecord } from "./mesh-record.js"

export interface ProcessStatus {
  readonly name: string
  readonly pid: number
  readonly running: boolean
  readonly since: string
  readonly restarts: number
}

export interface WorkloadStatus {
  readonly namespace: string
  readonly name: string
  readonly ready: boolean
  /** The reason if it is not ready. */
  readonly reason: string | undefined
  readonly address: string
  readonly revision: number | undefined
  readonly policies: number | undefined
  readonly certificateExpires: string | undefined
}

export interface MeshStatus {
  readonly data: string
  readonly phase: Phase | "crashed"
  readonly supervisor: number
  readonly mesh: string
  readonly domain: string
  readonly controlPlane: { readonly ready: boolean; readonly reason: string | undefined; readonly api: string }
  readonly ingressPorts: readonly IngressPortRecord[]
  readonly processes: readonly ProcessStatus[]
  readonly workloads: readonly WorkloadStatus[]
}

export async function meshStatus(data: string, record: MeshRecord): Promise<MeshStatus> {
  const { phase, supervisor, mesh, domain, ports, ingressPorts, processes, workloads } = record
  const alive = lockHolder(data) !== undefined
  const answer = await httpGet("127.0.0.1", ports.health, "/readyz")
  const reason = answer === undefined ? "it does not answer" : answer.body.trim()
  const ready = answer?.status === 200
  return {
    data,
    phase: alive ? phase : "crashed",
    supervisor: supervisor.pid,
    mesh,
    domain,
    controlPlane: { ready, reason: ready ? undefined : reason, api: `https://127.0.0.1:${ports.api}` },
    ingressPorts,
    processes: processes.map(process => ({
      name: process.name,
      pid: process.pid,
      running: isRunning(process, process.program),
      since: process.since,
      restarts: process.restarts,
    })),
    workloads: await Promise.all(workloads.map(workloadStatus)),
  }
}

/** Whether everything is healthy. */
export function isWell({ phase, controlPlane, processes, workloads }: MeshStatus): boolean {
  const allRun = processes.every(({ running }) => running)
  return phase === "ready" && controlPlane.ready && allRun && workloads.every(({ ready }) => ready)
}

async function workloadStatus({ namespace, name, serves, place }: WorkloadRecord): Promise<WorkloadStatus> {
  const answer = await httpGet(place.address, place.health, "/healthz/ready")
  const ready = answer?.status === 200
  return {
    namespace,
    name,
    ready,
    reason: ready ? undefined : (answer?.body.trim() ?? "its proxy does not answer"),
    address: serves ? `${place.address}:${place.xserver}` : place.address,
    ...(await inForce(place)),
  }
}

type InForce = Pick<WorkloadStatus, "revision" | "policies" | "certificateExpires">

async function inForce({ address, admin }: Place): Promise<InForce> {
  const dump = await httpGet(address, admin, "/config_dump")
  return readDump(dump?.body ?? "")
}

export function readDump(text: string): InForce {
  const nothing: InForce = { revision: undefined, policies: undefined, certificateExpires: undefined }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return nothing
  }
  const { configuration } = fieldsOf(value)
  if (configuration === undefined) return nothing
  const { revision, policies, tls } = fieldsOf(configuration)
  return {
    revision: typeof revision === "number" ? revision : undefined,
    policies: listOf(policies).length,
    certificateExpires: expiryOf(textOf(fieldsOf(tls).certificateChain)),
  }
}

function expiryOf(chain: string | undefined): string | undefined {
  if (chain === undefined) return undefined
  try {
    return new Date(certificateFacts(chain).notAfter).toISOString()
  } catch {
    return undefined
  }
}
