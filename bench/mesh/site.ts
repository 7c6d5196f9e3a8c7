// SPDX-License-Identifier: Apache-2.0
// The environment of one pair of proxies. As root: two network namespaces, in which the real `merlond capture`
// redirects the caller's connections. Otherwise: loopback, where callers of Merlon use `http_proxy` and others connect
// to the proxy itself.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { XSERVER_UID } from "@merlon/control/registry"
import { PodNetwork } from "../../test/e2e/support/pod-network.js"
import { findProgram } from "../../test/runner/programs.js"
import { type Application, startApplication } from "../proxy/application.js"
import { listening } from "../proxy/running.js"

/** The caller, whose connections are redirected; its proxy, whose are not; and the other side. */
export type Role = "caller" | "caller's proxy" | "server"

export const IS_CAPTURED =
  process.getuid?.() === 0 && ["ip", "nft", "setpriv"].every(program => findProgram(program) !== undefined)

/** Runs as the user that the rules exempt, who must be able to read the files of the benchmark. */
const AS_PROXY = ["setpriv", `--reuid=${XSERVER_UID}`, "--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
const NETWORKS = 254
const LOOPBACK = "127.0.0.1"

let sites = 0
const open = new Set<Site>()

let isInterrupted = false

/**
 * Ends all sites when a run is interrupted, because namespaces outlive the process that created them. No site opens
 * after it.
 */
export async function endSites(): Promise<void> {
  isInterrupted = true
  for (const site of open) await site.end()
}

export class Site {
  readonly #network: PodNetwork | undefined
  readonly #isTogether: boolean
  readonly #children: ChildProcess[] = []
  #ending: Promise<void> | undefined
  /** Names this site's files. */
  readonly name: string

  /** `together`: the server is in the same place as the caller. */
  constructor(together: boolean) {
    if (isInterrupted) throw new Error("the run was interrupted")
    const number = sites++
    this.name = `site-${number}`
    this.#isTogether = together
    open.add(this)
    this.#network = IS_CAPTURED ? new PodNetwork(`bench${number}`, (number % NETWORKS) + 1) : undefined
  }

  /** The address that the caller connects to. */
  get service(): string {
    return this.#network?.addresses.node.v4 ?? LOOPBACK
  }

  /** The address that the server's proxy listens on. */
  get server(): string {
    return this.#network?.addresses[this.#isTogether ? "pod" : "node"].v4 ?? LOOPBACK
  }

  prefix(role: Role): readonly string[] {
    if (this.#network === undefined) return []
    if (role === "server") return this.#network.prefix(this.#isTogether ? "pod" : "node")
    const pod = this.#network.prefix("pod")
    return role === "caller" ? pod : [...pod, ...AS_PROXY]
  }

  async application(): Promise<Application> {
    const application = await startApplication(
      this.#network === undefined ? LOOPBACK : "0.0.0.0",
      this.prefix("server"),
    )
    this.#children.push(application.process)
    return application
  }

  /** Resolves when it listens on the port. */
  async start(role: Role, command: readonly string[], port: number): Promise<ChildProcess> {
    const [program = "", ...args] = [...this.prefix(role), ...command]
    const child = spawn(program, args, { stdio: ["ignore", "ignore", "inherit"] })
    this.#children.push(child)
    return (await listening(child, port)).process
  }

  /** Redirects the caller's connections. */
  capture(port: number): void {
    this.#network?.capture("nft", "--undeclared", "pass", "--outbound", String(port))
  }

  /** Ends only once: an interrupt may come while a failed round is ending. */
  end(): Promise<void> {
    this.#ending ??= this.#end()
    return this.#ending
  }

  async #end(): Promise<void> {
    for (const child of this.#children.splice(0)) {
      child.kill("SIGKILL")
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
    }
    await this.#network?.end()
    open.delete(this)
  }
}
