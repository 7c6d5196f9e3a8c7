// SPDX-License-Identifier: Apache-2.0
// A Pod's network on one machine: a namespace for the node and one for the Pod, joined by a link with IPv4 and IPv6
// addresses. The real `merlond capture` sets the rules, with nft or with iptables.

import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { findProgram } from "../../runner/programs.js"

export type Side = "node" | "pod"
export type Version = "v4" | "v6"

/** The programs that set the rules, and the tags of tests that need them. */
export const RULE_PROGRAMS = [
  ["nft", []],
  ["iptables", ["needs/iptables"]],
] as const

const MERLOND = resolve("packages/cli/bin/merlond.js")

export class PodNetwork {
  readonly addresses: Readonly<Record<Side, Readonly<Record<Version, string>>>>
  readonly #word: string
  readonly #folder: string
  readonly #children: ChildProcess[] = []

  /** The word distinguishes networks that exist at the same time, and the number, from 1 to 254, their addresses. */
  constructor(word: string, number: number) {
    this.#word = word
    this.addresses = {
      node: { v4: `10.231.${number}.1`, v6: `fd31:${number}::1` },
      pod: { v4: `10.231.${number}.2`, v6: `fd31:${number}::2` },
    }
    this.#folder = mkdtempSync(join(tmpdir(), "merlon-network-"))
    for (const side of SIDES) ip("netns", "add", this.#space(side))
    const link = ["link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", this.#space("pod")]
    ip("-n", this.#space("node"), ...link)
    for (const side of SIDES) {
      const change = (...args: readonly string[]) => ip("-n", this.#space(side), ...args)
      change("link", "set", "lo", "up")
      change("addr", "add", `${this.addresses[side].v4}/24`, "dev", "eth0")
      change("-6", "addr", "add", `${this.addresses[side].v6}/64`, "dev", "eth0", "nodad")
      change("link", "set", "eth0", "up")
    }
  }

  /** Command prefix that runs a program on one side; the process becomes the program itself. */
  prefix(side: Side): readonly string[] {
    return ["ip", "netns", "exec", this.#space(side)]
  }

  /** The lines that a script prints on one side; it is run by Node unless another program is named. */
  lines(
    side: Side,
    script: string,
    args: readonly string[],
    program = [process.execPath, "-e"],
  ): AsyncIterator<string> {
    const [first = "", ...command] = [...this.prefix(side), ...program, script, ...args]
    const child = spawn(first, command, { stdio: ["ignore", "pipe", "inherit"] })
    this.#children.push(child)
    return createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  }

  /** Replaces the rules that an earlier call set. */
  capture(program: "nft" | "iptables", ...flags: readonly string[]): void {
    const command = [process.execPath, MERLOND, "capture", "--map", "8080:15080", ...flags]
    ip("netns", "exec", this.#space("pod"), "env", `PATH=${this.#pathWith(program)}`, ...command)
  }

  async end(): Promise<void> {
    for (const child of this.#children.splice(0)) {
      child.kill()
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
    }
    for (const side of SIDES) ip("netns", "del", this.#space(side))
    rmSync(this.#folder, { recursive: true })
  }

  #space(side: Side): string {
    return `merlon-${this.#word}-${side}-${process.pid}`
  }

  /** `capture` uses iptables if nft is missing. */
  #pathWith(program: "nft" | "iptables"): string {
    if (program === "nft") return process.env.PATH ?? ""
    for (const name of ["sh", "iptables", "ip6tables"]) {
      rmSync(join(this.#folder, name), { force: true })
      symlinkSync(findProgram(name) ?? "", join(this.#folder, name))
    }
    return this.#folder
  }
}

const SIDES: readonly Side[] = ["node", "pod"]

function ip(...args: readonly string[]): void {
  execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] })
}
