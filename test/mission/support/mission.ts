// SPDX-License-Identifier: Apache-2.0
// One local mesh as a user has it: started by `merlonctl up --detach`, controlled by merlonctl or kubectl, called with
// curl from outside and with xclient from inside. Stopping it also checks that nothing is left behind. `MERLONCTL`
// names another build of the program.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { type MeshNames, meshNames } from "@merlon/policy"
import { expect, vi } from "vitest"
import { parse } from "yaml"
import { freePort } from "../../../packages/cluster/src/store/testing/free-port.js"
import { ownPorts } from "../../e2e/local/support/own-ports.js"
import { together } from "./manifests.js"
import { type Environment, type Ran, Running, run } from "./run.js"

export interface Setup {
  readonly tool: "merlonctl" | "kubectl"
  readonly mesh: string
  readonly domain: string
}

export const MERLON: Setup = { tool: "merlonctl", mesh: "merlon", domain: "merlon.dev" }
export const DUBBO: Setup = { tool: "kubectl", mesh: "dubbo", domain: "dubbo.apache.org" }

/** Ports for callers from outside. */
interface IngressPorts {
  readonly httpbin: number
  readonly web: number
}

/** The format of `mesh.json` in the data folder. */
interface MeshRecord {
  readonly supervisor: { readonly pid: number }
  readonly ports: { readonly webhook: number; readonly health: number }
  readonly workloads: readonly {
    readonly namespace: string
    readonly name: string
    readonly place: {
      readonly address: string
      readonly xserver: number
      readonly admin: number
      readonly health: number
    }
  }[]
  readonly processes: readonly { readonly name: string; readonly pid: number }[]
}

export interface Stored {
  readonly metadata: { readonly generation?: number }
  readonly spec: { readonly [field: string]: unknown }
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly reason: string
      readonly message: string
      readonly observedGeneration?: number
    }[]
  }
}

export interface Answer {
  /** 0 if the connection was closed without a response. */
  readonly status: number
  readonly body: string
}

const PROGRAM = resolve(process.env.MERLONCTL ?? "packages/cli/bin/merlonctl.js")
const PATIENCE = { timeout: 90_000, interval: 200 }

export class Mission {
  readonly names: MeshNames
  readonly #tool: Setup["tool"]
  readonly #folder: string
  readonly #env: Environment
  readonly #ingress: IngressPorts
  readonly #running: Running[] = []

  private constructor({ tool, mesh, domain }: Setup, folder: string, ingress: IngressPorts) {
    this.#tool = tool
    this.#folder = folder
    this.#ingress = ingress
    this.names = meshNames({ mesh, domain })
    this.#env = environment(folder, { MERLON_MESH: mesh, MERLON_DOMAIN: domain })
  }

  static async start(setup: Setup): Promise<Mission> {
    const folder = mkdtempSync(join(tmpdir(), "merlon-mission-"))
    const ingress = { httpbin: await freePort(), web: await freePort() }
    const names = ["--data", join(folder, "mesh"), "--mesh", setup.mesh, "--domain", setup.domain]
    const ingressPorts = ["--expose", `httpbin.foo=${ingress.httpbin}`, "--expose", `web.app=${ingress.web}`]
    const up = [PROGRAM, "up", "--detach", ...names, ...(await ownPorts()), ...ingressPorts]
    const { code, err } = await run(process.execPath, up, environment(folder))
    if (code === 0) return new Mission(setup, folder, ingress)
    rmSync(folder, { recursive: true, force: true })
    throw new Error(`\`merlonctl up\` failed: ${err}`)
  }

  /** Stops the mesh, and fails if anything of it is left. */
  async stop(): Promise<void> {
    for (const program of this.#running) await program.stop()
    const { supervisor, processes } = this.record
    const pids = [supervisor, ...processes].map(({ pid }) => pid)
    const { code, err } = await this.merlonctl(["down"])
    const left = [...pids.filter(isAlive), ...processesNaming(this.#folder)]
    rmSync(this.#folder, { recursive: true, force: true })
    expect({ code, left, err: code === 0 ? "" : err }).toEqual({ code: 0, left: [], err: "" })
  }

  merlonctl(args: readonly string[], input?: string): Promise<Ran> {
    return run(process.execPath, [PROGRAM, ...args], this.#env, input)
  }

  kubectl(args: readonly string[], input?: string): Promise<Ran> {
    return run(process.env.KUBECTL ?? "kubectl", args, this.#env, input)
  }

  /** Runs the tool of this mission. */
  ctl(args: readonly string[], input?: string): Promise<Ran> {
    return this.#tool === "kubectl" ? this.kubectl(args, input) : this.merlonctl(args, input)
  }

  async apply(manifest: string): Promise<void> {
    succeeded(await this.ctl(["apply", "-f", "-"], manifest))
  }

  async patch(kind: string, name: string, namespace: string, patch: object): Promise<void> {
    const args = ["patch", kind, name, "-n", namespace, "--type", "merge", "-p", JSON.stringify(patch)]
    succeeded(await this.ctl(args))
  }

  async get(kind: string, name: string, namespace: string): Promise<Stored> {
    const { out } = succeeded(await this.ctl(["get", kind, name, "-n", namespace, "-o", "json"]))
    return JSON.parse(out)
  }

  /** Returns when the status reports that the stored policy is enforced. Callers assert at once, without a retry. */
  async enforced(kind: string, name: string, namespace: string): Promise<void> {
    const what = ["--for=condition=Enforced", `${kind}/${name}`, "-n", namespace, "--timeout=120s"]
    succeeded(await this.ctl(["wait", ...what]))
  }

  /** Applies one policy and returns when it is enforced; merlonctl waits by itself. */
  async enforce(manifest: string, kind: string, name: string, namespace: string): Promise<void> {
    if (this.#tool === "merlonctl") {
      succeeded(await this.merlonctl(["apply", "--wait", "--timeout", "120s", "-f", "-"], manifest))
      return
    }
    await this.apply(manifest)
    await this.enforced(kind, name, namespace)
  }

  /** Returns when no proxy holds the policy any more. A deleted policy has no status to wait for. */
  async remove(kind: string, name: string, namespace: string): Promise<void> {
    succeeded(await this.ctl(["delete", kind, name, "-n", namespace]))
    await this.#forgotten([`${kind}/${namespace}/${name}`])
  }

  /** Removes all policies of these manifests. */
  async removeAll(...manifests: readonly string[]): Promise<void> {
    succeeded(await this.ctl(["delete", "-f", "-"], together(...manifests)))
    const gone = manifests.map(manifest => {
      const { kind, metadata } = parse(manifest)
      return `${kind}/${metadata.namespace}/${metadata.name}`.toLowerCase()
    })
    await this.#forgotten(gone)
  }

  async #forgotten(gone: readonly string[]): Promise<void> {
    const isForgotten = async (): Promise<void> => {
      for (const { place } of this.record.workloads) {
        const dump = await run("curl", ["-s", `http://${place.address}:${place.admin}/config_dump`], this.#env)
        const { policies }: { policies: readonly { metadata: { name: string; namespace: string }; kind: string }[] } =
          JSON.parse(dump.out).configuration
        const held = policies.map(policy => `${policy.kind}/${policy.metadata.namespace}/${policy.metadata.name}`)
        expect(held.map(key => key.toLowerCase()).filter(key => gone.includes(key))).toEqual([])
      }
    }
    await vi.waitFor(isForgotten, PATIENCE)
  }

  /** Calls from outside of the mesh, in plaintext. */
  httpbin(path: string, ...more: readonly string[]): Promise<Answer> {
    return this.curl(`http://127.0.0.1:${this.#ingress.httpbin}${path}`, ...more)
  }

  web(...more: readonly string[]): Promise<Answer> {
    return this.curl(`http://127.0.0.1:${this.#ingress.web}/`, ...more)
  }

  async curl(url: string, ...more: readonly string[]): Promise<Answer> {
    const { out } = await run("curl", ["-s", "-k", "-w", "\n%{http_code}", ...more, url], this.#env)
    const end = out.lastIndexOf("\n")
    return { status: Number(out.slice(end + 1)), body: out.slice(0, end) }
  }

  /** Runs xclient inside the workload `consumer`. */
  xclient(...args: readonly string[]): Promise<Ran> {
    return this.merlonctl(["exec", "consumer", "-n", "app", "--", "xclient", ...args])
  }

  /** Runs xclient in the background; it ends with the mission at the latest. */
  runningXclient(...args: readonly string[]): Running {
    const program = new Running(
      process.execPath,
      [PROGRAM, "exec", "consumer", "-n", "app", "--", "xclient", ...args],
      this.#env,
    )
    this.#running.push(program)
    return program
  }

  get record(): MeshRecord {
    // `merlonctl up` writes the file atomically.
    return JSON.parse(readFileSync(join(this.#folder, "mesh", "mesh.json"), "utf8"))
  }
}

/** A separate home: no kubeconfig of this machine, no cache of another server. */
function environment(folder: string, more: Environment = {}): Environment {
  const data = join(folder, "mesh")
  return {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    KUBECONFIG: join(data, "kubeconfig"),
    MERLON_DATA: data,
    ...more,
  }
}

export function succeeded(ran: Ran): Ran {
  expect(ran, ran.err).toMatchObject({ code: 0 })
  return ran
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // The process has ended, but its parent has not reaped it yet: a zombie has no command line.
    return !existsSync(`/proc/${pid}`) || commandLine(String(pid)) !== ""
  } catch {
    return false
  }
}

/** Processes whose command line contains the folder, if the system shows command lines as files. */
function processesNaming(folder: string): readonly string[] {
  const lines = readdirs("/proc")
    .filter(name => /^\d+$/.test(name))
    .map(pid => commandLine(pid))
  return lines.filter(line => line.includes(folder))
}

function readdirs(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")
  } catch {
    return ""
  }
}
