// SPDX-License-Identifier: Apache-2.0
// A real etcd for tests, with its own ports and folder, that can be killed and restarted on the same data. Tests that use
// it have the tag `needs/etcd`.

import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "./free-port.js"

const READY_MS = 120_000

export interface EtcdProcessOptions {
  readonly binary?: string
  /** `https` and the certificate flags for tests of TLS. */
  readonly scheme?: "http" | "https"
  readonly flags?: readonly string[]
  /** Use etcd's default timing, for measurements: fast elections cost CPU all the time. */
  readonly patient?: boolean
}

export class EtcdProcess {
  #child: ChildProcess | undefined

  private constructor(
    readonly folder: string,
    readonly port: number,
    readonly peerPort: number,
    readonly options: EtcdProcessOptions,
    /** The peer ports of all members. */
    readonly peerPorts: readonly number[] = [peerPort],
  ) {}

  static async start(options: EtcdProcessOptions = {}): Promise<EtcdProcess> {
    const folder = mkdtempSync(join(tmpdir(), "merlon-etcd-"))
    const etcd = new EtcdProcess(folder, await freePort(), await freePort(), options)
    await etcd.launch()
    return etcd
  }

  /** Starts the members of one etcd cluster, of which a minority may be killed. */
  static async startMembers(count: number): Promise<readonly EtcdProcess[]> {
    const peerPorts = await Promise.all(Array.from({ length: count }, freePort))
    const members = await Promise.all(
      peerPorts.map(async peerPort => {
        const folder = mkdtempSync(join(tmpdir(), "merlon-etcd-"))
        return new EtcdProcess(folder, await freePort(), peerPort, { patient: true }, peerPorts)
      }),
    )
    await Promise.all(members.map(member => member.launch()))
    return members
  }

  get endpoint(): string {
    return `${this.options.scheme ?? "http"}://127.0.0.1:${this.port}`
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  async launch(): Promise<void> {
    const peerUrl = (port: number): string => `http://127.0.0.1:${port}`
    const peer = peerUrl(this.peerPort)
    const nameOf = (port: number): string => `member-${port}`
    const child = spawn(
      this.options.binary ?? "etcd",
      [
        ...["--name", nameOf(this.peerPort), "--data-dir", this.folder, "--log-level", "error", "--logger", "zap"],
        ...["--listen-client-urls", this.endpoint, "--advertise-client-urls", this.endpoint],
        ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer],
        ...["--initial-cluster", this.peerPorts.map(port => `${nameOf(port)}=${peerUrl(port)}`).join(",")],
        // A single member elects itself. With the default timeout, this would take a second after every kill.
        ...(this.options.patient === true ? [] : ["--heartbeat-interval", "10", "--election-timeout", "50"]),
        ...(this.options.flags ?? []),
      ],
      { stdio: ["ignore", "ignore", "pipe"], env: etcdEnvironment() },
    )
    this.#child = child
    const end = (): void => void child.kill("SIGKILL")
    process.once("exit", end)
    child.once("exit", () => process.off("exit", end))
    let result = ""
    child.stderr?.on("data", data => {
      result += String(data)
    })
    const deadline = Date.now() + READY_MS
    while (!(await this.#listening())) {
      if (child.exitCode !== null) throw new Error(`etcd ended with ${child.exitCode}: ${result}`)
      if (Date.now() > deadline) throw new Error(`etcd is not ready: ${result}`)
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise(resolve => child.once("exit", resolve))
    child.kill(signal)
    await gone
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  async stop(): Promise<void> {
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Calls etcd's JSON gateway, for what the store never does: writes of other clients, users. */
  async gateway(path: string, body: unknown): Promise<unknown> {
    const answer = await fetch(`${this.endpoint}/v3/${path}`, { method: "POST", body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`etcd gateway ${path}: ${answer.status} ${await answer.text()}`)
    return await answer.json()
  }

  async put(key: string, value: string): Promise<void> {
    await this.gateway("kv/put", { key: base64(key), value: base64(value) })
  }

  async #listening(): Promise<boolean> {
    if (this.options.scheme === "https") return await canConnect(this.port)
    try {
      return (await fetch(`${this.endpoint}/health`)).ok
    } catch {
      return false
    }
  }
}

const base64 = (text: string): string => Buffer.from(text).toString("base64")

async function canConnect(port: number): Promise<boolean> {
  const { connect } = await import("node:net")
  return await new Promise(resolve => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    })
    socket.once("error", () => resolve(false))
  })
}

function etcdEnvironment(): NodeJS.ProcessEnv {
  // etcd 3.4 starts on arm64 only with this variable.
  return process.arch === "arm64" ? { ...process.env, ETCD_UNSUPPORTED_ARCH: "arm64" } : process.env
}
