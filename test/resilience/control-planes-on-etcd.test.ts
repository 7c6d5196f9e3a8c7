// SPDX-License-Identifier: Apache-2.0
// Two control planes on a three-member etcd, behind one address, as docs/operations/several-control-planes.md describes
// it. While policies are written and requests are sent continuously, each of them is killed, and an etcd member too:
// acknowledged writes are there, no permitted request is denied, and no invalid policy is stored.

import { type ChildProcess, spawn } from "node:child_process"
import { randomInt } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { EtcdProcess } from "../../packages/cluster/src/store/testing/etcd-process.js"
import { freePort } from "../../packages/cluster/src/store/testing/free-port.js"
import { ApiError } from "../../packages/control/src/kubernetes/client.js"
import { LEASES, VALIDATING_WEBHOOKS } from "../../packages/control/src/kubernetes/resource-type.js"
import { objectOf } from "../../packages/control/src/registry/foreign.js"
import { ClusterApi, names } from "../e2e/control/support/cluster-api.js"
import { DeclaredWorkload } from "../e2e/control/support/declared-workload.js"
import { deny, policy } from "../e2e/control/support/mesh.js"
import { Program } from "../e2e/control/support/program.js"
import { EtcdMachine, type SharedPorts } from "./support/etcd-machine.js"

const BALANCER = "127.0.0.1"
/** Interval between two writes or calls, while something is killed and otherwise. */
const DENSE_MS = 100
const SPARSE_MS = 1_000
const POLL = { timeout: 240_000, interval: 200 }

describe("control planes on one etcd behind one address (needs etcd and haproxy)", {
  tags: ["needs/etcd", "needs/haproxy", "needs/kubectl"],
}, () => {
  const folder = mkdtempSync(join(tmpdir(), "merlon-several-"))
  const block = `127.${randomInt(100, 250)}.${randomInt(1, 250)}`
  let members: readonly EtcdProcess[] = []
  let ports: SharedPorts
  let first: EtcdMachine
  let second: EtcdMachine
  let balancer: ChildProcess
  let api: ClusterApi
  let workload: DeclaredWorkload
  const closers: (() => unknown)[] = []

  const machine = (number: number): EtcdMachine =>
    new EtcdMachine({
      ...{ folder, address: `${block}.${number}`, sharedAddress: BALANCER, ports },
      etcd: members.map(({ endpoint }) => endpoint),
    })

  beforeAll(async () => {
    members = await EtcdProcess.startMembers(3)
    const [one, two, three, four] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
    ports = { api: one, mesh: two, webhook: three, health: four }
    first = machine(1)
    second = machine(2)
    balancer = spawn("haproxy", ["-db", "-f", "deploy/balancer/haproxy.cfg"], {
      stdio: "ignore",
      env: {
        ...process.env,
        ...{ LISTEN: BALANCER, FIRST: `${block}.1`, SECOND: `${block}.2`, API_PORT: `${ports.api}` },
        ...{ MESH_PORT: `${ports.mesh}`, WEBHOOK_PORT: `${ports.webhook}`, HEALTH_PORT: `${ports.health}` },
      },
    })
    await first.run()
    second.takeKeysOf(first)
    await second.run()
    const kubeconfig = join(folder, "kubeconfig")
    writeFileSync(kubeconfig, readFileSync(first.kubeconfig, "utf8").replace(`${block}.1`, BALANCER))
    api = new ClusterApi(kubeconfig, folder)
    closers.push(() => api.close())
    workload = await declare("web")
    await workload.run()
  })

  afterAll(async () => {
    for (const close of closers.reverse()) await close()
    balancer.kill("SIGKILL")
    await first.kill()
    await second.kill()
    for (const member of members) await member.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  async function declare(name: string): Promise<DeclaredWorkload> {
    const declaration = { name, namespace: "foo", labels: { app: name }, serviceAccount: name, meshPort: ports.mesh }
    const declared = await DeclaredWorkload.declare(api, declaration, join(folder, "workloads", name))
    closers.push(() => declared.close())
    return declared
  }

  it("tells a replica with keys of its own which keys to use", async () => {
    const stranger = machine(3)
    const program = stranger.launch()
    expect(await program.exit()).toBe(1)
    expect(program.stderr).toContain("the servers on this etcd have other keys: copy the folder `pki`")
  })

  it("rejects an etcd and another cluster at once", async () => {
    const program = new Program(["serve", "--etcd", "http://127.0.0.1:1", "--kubeconfig", first.kubeconfig])
    expect(await program.exit()).toBe(1)
    expect(program.stderr).toContain("`--kubeconfig` names another one; give one of them")
  })

  it("admission uses the shared address, so that it survives a replica", async () => {
    const registered = JSON.stringify(await api.client.list(VALIDATING_WEBHOOKS))
    expect(registered).toContain(`"https://${BALANCER}:${ports.webhook}/`)
    expect(registered).not.toContain(block)
  })

  it("one of them leads and stays the leader, and both answer for all proxies", async () => {
    const { rootNamespace } = names
    const led = async (): Promise<{ readonly holder: unknown; readonly renewed: unknown }> => {
      const { holderIdentity, renewTime } = objectOf((await api.client.get(LEASES, "merlond", rootNamespace))?.spec)
      return { holder: holderIdentity, renewed: renewTime }
    }
    let last = await led()
    for (let renewals = 0; renewals < 3; renewals++) {
      await expect.poll(async () => (await led()).renewed, POLL).not.toBe(last.renewed)
      const next = await led()
      expect(next.holder).toBe(last.holder)
      last = next
    }
    const leases = (await api.client.list(LEASES, { labelSelector: "merlon.dev/replica" })).items
    expect(leases.map(({ metadata }) => metadata.name).sort()).toEqual(
      [1, 2].map(number => `merlon-replica-${block}.${number}`),
    )
    // The balancer sends each query to either one.
    for (let asked = 0; asked < 4; asked++) {
      await expect
        .poll(async () => {
          const { out } = await api.kubectl("get --raw /apis/answers.merlon.dev/v1alpha1/namespaces/foo/proxies")
          const { items = [], partial } = JSON.parse(out || "{}")
          return { names: items.map(({ metadata }: { metadata: { name: string } }) => metadata.name), partial }
        }, POLL)
        .toEqual({ names: ["web"], partial: undefined })
    }
  })

  it("whichever is killed under load, nothing is lost and no request is wrongly denied", async () => {
    await api.put(deny("closed", "/closed", "web"))
    await api.becomes("AuthorizationPolicy", "closed", "foo", "Enforced", "True")
    const load = new Load(api, workload)
    load.start()
    const goesOn = async (): Promise<void> => {
      const name = await load.acknowledges(3)
      await api.becomes("AuthorizationPolicy", name, "foo", "Enforced", "True")
    }
    await goesOn()
    await load.duringWrites(() => first.kill())
    await goesOn()
    // A new workload joins while one of the two is down.
    const late = await declare("late")
    await late.run()
    expect(await late.get("/")).toBe(200)
    await first.run()
    await goesOn()
    await load.duringWrites(() => second.kill())
    await goesOn()
    await second.run()
    await load.duringWrites(async () => members[0]?.kill())
    await goesOn()
    await members[0]?.launch()
    await goesOn()
    await load.stop()

    expect(load.wrongAnswers).toEqual([])
    expect(load.rejections).toEqual([])
    expect(load.storedUnseen).toEqual([])
    for (const name of load.acknowledged) expect(await api.get("AuthorizationPolicy", name, "foo"), name).toBeDefined()
    for (const name of load.acknowledged) expect(await workload.get(`/${name}`), name).toBe(403)
  })
})

/** Valid policies, one that must be rejected, and requests: all of them continuously. */
class Load {
  readonly acknowledged: string[] = []
  readonly rejections: string[] = []
  readonly wrongAnswers: string[] = []
  readonly storedUnseen: string[] = []
  #stopped = false
  /** Whether each write immediately follows the one before. */
  #writesDense = false
  #callsDense = false
  #running: Promise<unknown> = Promise.resolve()

  constructor(
    readonly api: ClusterApi,
    readonly workload: DeclaredWorkload,
  ) {}

  start(): void {
    this.#running = Promise.all([
      this.#write(),
      this.#writeWrong(),
      this.#call("/open", 200),
      this.#call("/closed", 403),
    ])
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  /**
   * Keeps a write in flight while the event happens, and sends many calls until the proxy has found the remaining
   * control plane. At other times, writing and calling at full speed would only use CPU.
   */
  async duringWrites(event: () => Promise<unknown>): Promise<void> {
    this.#writesDense = true
    this.#callsDense = true
    await this.acknowledges(5)
    await event()
    this.#writesDense = false
    // The first of them may have been in flight before.
    const written = await this.acknowledges(2)
    await expect.poll(() => this.workload.get(`/${written}`), POLL).toBe(403)
    this.#callsDense = false
  }

  /** The name of the last of this many further acknowledged writes. */
  async acknowledges(more: number): Promise<string> {
    const enough = this.acknowledged.length + more
    await expect.poll(() => this.acknowledged.length, POLL).toBeGreaterThanOrEqual(enough)
    return this.acknowledged.at(-1) ?? ""
  }

  async #write(): Promise<void> {
    for (let number = 0; !this.#stopped; number++) {
      const name = `p${number}`
      for (;;) {
        try {
          await this.api.put(deny(name, `/${name}`, "web"))
          this.acknowledged.push(name)
          if (!this.#writesDense) await setTimeout(SPARSE_MS)
          break
        } catch (error) {
          this.#note(error)
        }
        await setTimeout(DENSE_MS)
      }
    }
  }

  async #writeWrong(): Promise<void> {
    const rule = { issuer: "a", jwksUri: "/keys" }
    for (let number = 0; !this.#stopped; number++) {
      try {
        await this.api.put(policy("RequestAuthentication", `wrong${number}`, { jwtRules: [rule] }))
        this.storedUnseen.push(`wrong${number}`)
      } catch (error) {
        if (!/jwksUri/.test(String(error))) this.#note(error)
      }
      await setTimeout(this.#writesDense ? DENSE_MS : SPARSE_MS)
    }
  }

  async #call(path: string, expected: number): Promise<void> {
    while (!this.#stopped) {
      const status = await this.workload.get(path)
      if (status !== expected) this.wrongAnswers.push(`${path} ${status}`)
      await setTimeout(this.#callsDense ? DENSE_MS : SPARSE_MS)
    }
  }

  /**
   * A connection that broke says nothing about the request; the server's response does. If the response was lost with
   * an etcd member, the server reports that the result is unknown, and it asks for a retry while etcd elects a leader.
   * Neither is a rejection: the write is repeated, and counted then.
   */
  #note(error: unknown): void {
    if (!(error instanceof ApiError) || error.code === 0) return
    if (error.reason === "ServerTimeout" || error.message.includes("etcd did not say whether the write happened"))
      return
    this.rejections.push(`${error.code} ${error.reason}: ${error.message}`)
  }
}
