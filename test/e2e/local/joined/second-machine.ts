// SPDX-License-Identifier: Apache-2.0
// A second machine joins with an invitation: in a separate network namespace if the system allows it, otherwise on
// another loopback address. Only the invitation is copied.

import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { randomInt } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { findProgram } from "../../../runner/programs.js"
import type { Merlonctl } from "../support/merlonctl.js"

const POLL = { timeout: 90_000, interval: 500 }
const folder = mkdtempSync(join(tmpdir(), "second-machine-"))
const started: ChildProcess[] = []
let machine: Machine
let port: string
let invitation: string

interface Machine {
  readonly here: string
  readonly there: string
  /** Prefix of a command that runs on the machine. */
  readonly enter: readonly string[]
}

/** Two networks with a link between them, if the user has the permission to create them. */
function secondNetwork(): Machine | undefined {
  if (findProgram("unshare") === undefined || findProgram("ip") === undefined) return undefined
  const holder = spawn("unshare", ["--net", "sleep", "600"], { stdio: "ignore" })
  started.push(holder)
  const within = ["nsenter", "--net", "--target", String(holder.pid)]
  const ip = (...args: readonly string[]): boolean => spawnSync("ip", [...args]).status === 0
  const ipThere = (...args: readonly string[]): boolean =>
    spawnSync(within[0] ?? "", [...within.slice(1), "ip", ...args]).status === 0
  const apart = (): boolean => {
    try {
      return readlinkSync(`/proc/${holder.pid}/ns/net`) !== readlinkSync("/proc/self/ns/net")
    } catch {
      return false
    }
  }
  for (let tries = 0; tries < 50 && !apart(); tries++) spawnSync("sleep", ["0.1"])
  const number = randomInt(1, 250)
  const [a, b] = [`merlon${number}a`, `merlon${number}b`]
  const made =
    apart() &&
    ip("link", "add", a, "type", "veth", "peer", "name", b) &&
    ip("link", "set", b, "netns", String(holder.pid)) &&
    ip("address", "add", `10.${number}.77.1/24`, "dev", a) &&
    ip("link", "set", a, "up") &&
    ipThere("address", "add", `10.${number}.77.2/24`, "dev", b) &&
    ipThere("link", "set", b, "up") &&
    ipThere("link", "set", "lo", "up")
  return made ? { here: `10.${number}.77.1`, there: `10.${number}.77.2`, enter: within } : undefined
}

function there(...command: readonly string[]): ChildProcess {
  const [program = "", ...args] = [...machine.enter, ...command]
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env: { PATH: process.env.PATH ?? "" } })
  started.push(child)
  return child
}

async function run(...args: readonly string[]): Promise<{ code: number | null; text: string }> {
  const child = there("node", resolve("packages/cli/bin/merlonctl.js"), ...args)
  let text = ""
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", chunk => (text += chunk))
  const code = await new Promise<number | null>(done => child.once("close", done))
  return { code, text }
}

/** The mesh must listen for proxies of other machines. */
export function secondMachine(mesh: Merlonctl): void {
  beforeAll(async () => {
    machine = secondNetwork() ?? { here: "127.0.0.1", there: `127.${randomInt(100, 250)}.9.9`, enter: [] }
    port = String(mesh.record.ports.mesh)
    expect((await mesh.run("apply", "-f", "samples/manifests/httpbin.yaml")).code).toBe(0)
  })

  afterAll(() => {
    for (const child of started) child.kill("SIGKILL")
    rmSync(folder, { recursive: true, force: true })
  })

  it("joins with one command, with a key that is created there", async () => {
    const { code, stdout, stderr } = await mesh.run(
      ...[
        "invite",
        "remote-1",
        "-n",
        "foo",
        "--label",
        "app=httpbin",
        "--port",
        "8080/http",
        "--service-account",
        "httpbin",
      ],
      ...["--control-plane", `${machine.here}:${port}`],
    )
    expect(code, stderr).toBe(0)
    invitation = stdout.trim()
    // If the result cannot be stored, the single-use invitation is not consumed.
    const full = join(folder, "full")
    mkdirSync(full)
    writeFileSync(join(full, "state"), "")
    const rejected = await run("join", invitation, "--out", full)
    expect([rejected.code, rejected.text]).toEqual([1, expect.stringContaining("cannot write to the folder")])
    const joined = await run(
      "join",
      invitation,
      "--out",
      join(folder, "remote"),
      "--address",
      machine.there,
      "--listen",
      machine.there,
    )
    expect(joined.code, joined.text).toBe(0)
    expect(joined.text).toContain("joined merlon as remote-1 in foo")
    const [print] = /([0-9A-F]{2}:){31}[0-9A-F]{2}/.exec(stderr) ?? []
    expect(joined.text).toContain(print)
    expect(existsSync(join(folder, "remote", "token"))).toBe(false)
  })

  it("is accepted once: the same invitation admits no other machine", async () => {
    const again = await run("join", invitation, "--out", join(folder, "thief"))
    expect([again.code, again.text]).toEqual([1, expect.stringContaining("was already used")])
    expect(existsSync(join(folder, "thief", "state"))).toBe(false)
  })

  it("trusts only the control plane of its own mesh", { tags: ["needs/openssl"] }, async () => {
    const fields = JSON.parse(Buffer.from(invitation.split(".")[1] ?? "", "base64url").toString())
    const other = spawnSync(
      "openssl",
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -subj /CN=x -days 1".split(" "),
      { encoding: "utf8" },
    )
    const forged = Buffer.from(JSON.stringify({ ...fields, trustBundle: other.stdout })).toString("base64url")
    const { code, text } = await run("join", `merlon-invitation.${forged}`, "--out", join(folder, "forged"))
    expect([code, text]).toEqual([1, expect.stringMatching(/cannot join at /)])
  })

  it("serves there behind its policies, and leaves", async () => {
    there("node", "samples/dist/httpbin.js", "--host", "127.0.0.1", "--port", "8080")
    const proxy = there(
      ...[
        "node",
        resolve("packages/cli/bin/merlond.js"),
        "xserver",
        "--bootstrap",
        join(folder, "remote", "bootstrap.yaml"),
      ],
      ...(machine.enter.length > 0 ? [] : ["--admin", `${machine.there}:15000`, "--health", `${machine.there}:15021`]),
    )
    let log = ""
    proxy.stderr?.on("data", chunk => (log += chunk))
    const url = `http://${machine.there}:15080/headers`
    const status = async () => (await fetch(url).catch(() => undefined))?.status ?? log
    await expect.poll(status, POLL).toBe(200)
    const listed = async () => (await mesh.run("workload", "list", "-n", "foo")).stdout
    await expect.poll(listed, POLL).toMatch(new RegExp(`remote-1 +yes +${machine.there}`))
    const applied = await mesh.run("apply", "--wait", "--timeout", "2m", "-f", "samples/policies/require-token.yaml")
    expect(applied.code, applied.stderr).toBe(0)
    expect(await status()).toBe(403)
    proxy.kill("SIGTERM")
    expect((await mesh.run("workload", "remove", "remote-1", "-n", "foo")).code).toBe(0)
    expect(readFileSync(join(folder, "remote", "bootstrap.yaml"), "utf8")).toContain("remote-1")
  })
}
