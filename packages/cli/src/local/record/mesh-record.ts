// SPDX-License-Identifier: Apache-2.0
// The state of a local mesh, in `mesh.json` of its data folder. Its supervisor keeps it current, and all other commands
// read it. After a crash it names the processes to look for and the ports to reuse.

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
  /**
   * The address where its proxy accepts its program's calls. Absent in records of versions whose proxies accepted none.
   */
  readonly outbound?: number
  readonly application: number
}

export interface WorkloadRecord {
  readonly namespace: string
  readonly name: string
  readonly serviceAccount: string
  /** Whether an application that can be called runs behind its proxy. */
  readonly serves: boolean
  readonly place: Place
}

export interface IngressPortRecord {
  /** For example `httpbin.foo`. */
  readonly service: string
  readonly port: number
}

export interface ProcessRecord extends ProcessIdentity {
  /** For example `control-plane` or `foo.httpbin-1.xserver`. Its log has the same name. */
  readonly name: string
  /** A part of its command line. */
  readonly program: string
  readonly since: string
  readonly restarts: number
}

/** The outcome of a request to run something. */
export interface RunRecord {
  /** `namespace/name`. */
  readonly key: string
  /** The digest of the request. */
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
  /** Fallback ports for usual ones that were taken. Absent in records of versions that kept such ports for good. */
  readonly fallbackPorts?: readonly number[]
  readonly processes: readonly ProcessRecord[]
  /** Absent in records of versions that ran only samples. */
  readonly runs?: readonly RunRecord[]
}

export function newRecord(fields: Omit<MeshRecord, "version">): MeshRecord {
  return { version: VERSION, ...fields }
}

/** Undefined if there is none, or none that this version can read. */
export function readRecord(data: string): MeshRecord | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(join(data, NAME), "utf8"))
    // Stored under the name that earlier releases read.
    const { version, folder, waysIn: ingressPorts, ...fields } = fieldsOf(value)
    if (version !== VERSION) return undefined
    // Only this file writes it, atomically, and the version determines its shape.
    const record = { version, ingressPorts, ...fields } as MeshRecord
    // No process of a copied folder runs: the processes that it names belong to the original mesh and must not be
    // stopped.
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
