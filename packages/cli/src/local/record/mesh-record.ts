// SPDX-License-Identifier: Apache-2.0
// The contents of a local mesh, in `mesh.json` of its data folder: its supervisor keeps it current, every other command
// reads it. After a crash it says which processes to look for, and which ports to reuse.

import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { writePrivateFile } from "@merlon/xds/runtime"
import { fieldsOf } from "../../ctl/foreign.js"
import type { ProcessIdentity } from "../processes/process-identity.js"
import { folderIdentity } from "./folder-identity.js"

const NAME = "mesh.json"
const VERSION = 1

export type Phase = "starting" | "ready" | "stopping" | "stopped"

export interface ControlPlanePorts {
  readonly api: number
  readonly mesh: number
  readonly webhook: number
  readonly health: number
  /** Absent in records of versions that had no console. */
  readonly console?: number
}

export interface Place {
  readonly address: string
  readonly xserver: number
  readonly admin: number
  readonly health: number
  /** Where its proxy takes the calls of its program. Absent in records of versions whose proxies took none. */
  readonly outbound?: number
  readonly application: number
}

export interface WorkloadRecord {
  readonly namespace: string
  readonly name: string
  readonly serviceAccount: string
  /** Whether an application runs behind its proxy that can be called. */
  readonly serves: boolean
  readonly place: Place
}

export interface IngressPortRecord {
  /** As `httpbin.foo`. */
  readonly service: string
  readonly port: number
}

export interface ProcessRecord extends ProcessIdentity {
  /** As `control-plane`, or `foo.httpbin-1.xserver`; its log has the same name. */
  readonly name: string
  /** Part of its command line. */
  readonly program: string
  readonly since: string
  readonly restarts: number
}

/** The outcome of a request to run something. */
export interface RunRecord {
  /** `namespace/name`. */
  readonly key: string
  /** Of the request. */
  readonly digest: string
  readonly phase: "starting" | "ready" | "failed"
  readonly why: string | undefined
}

export interface MeshRecord {
  readonly version: typeof VERSION
  readonly phase: Phase
  readonly mesh: string
  readonly domain: string
  readonly supervisor: ProcessIdentity
  readonly ports: ControlPlanePorts
  readonly workloads: readonly WorkloadRecord[]
  readonly ingressPorts: readonly IngressPortRecord[]
  /** Ports that replace usual ones that were taken. Absent in records of versions that kept such ports for good. */
  readonly fallbackPorts?: readonly number[]
  readonly processes: readonly ProcessRecord[]
  /** Absent in records of versions that ran nothing but samples. */
  readonly runs?: readonly RunRecord[]
}

export function newRecord(fields: Omit<MeshRecord, "version">): MeshRecord {
  return { version: VERSION, ...fields }
}

/** Undefined where there is none, or none that this version can read. */
export function readRecord(data: string): MeshRecord | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(join(data, NAME), "utf8"))
    // Stored under the name that earlier releases read.
    const { version, folder, waysIn: ingressPorts, ...fields } = fieldsOf(value)
    if (version !== VERSION) return undefined
    // Written by this file alone, and whole or not at all; the version says that the shape is this one.
    const record = { version, ingressPorts, ...fields } as MeshRecord
    // In a copy of a mesh's folder nothing runs: the processes it names are the other mesh's, and must live.
    const isCopy = folder !== undefined && folder !== folderIdentity(data)
    return isCopy ? { ...record, phase: "stopped", processes: [] } : record
  } catch {
    return undefined
  }
}

export function writeRecord(data: string, record: MeshRecord): void {
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const { ingressPorts: waysIn, ...fields } = record
  const written = { ...fields, waysIn, folder: folderIdentity(data) }
  writePrivateFile(data, NAME, `${JSON.stringify(written, undefined, 2)}\n`)
}

export function logPath(data: string, process: string): string {
  return join(data, "logs", `${process}.log`)
}

export function workloadFolder(data: string, { namespace, name }: Pick<WorkloadRecord, "namespace" | "name">): string {
  return join(data, "workloads", `${namespace}.${name}`)
}
