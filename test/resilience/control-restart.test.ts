// SPDX-License-Identifier: Apache-2.0
// The control plane is killed and restarted: what proxies do meanwhile, and the cost of reconnecting.

import { once } from "node:events"
import { connect, type TLSSocket } from "node:tls"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { BareProxy } from "../e2e/control/support/bare-proxy.js"
import { names, WAIT } from "../e2e/control/support/cluster-api.js"
import type { DeclaredWorkload } from "../e2e/control/support/declared-workload.js"
import { deny, Mesh, policy } from "../e2e/control/support/mesh.js"
import { EnforcedTrace } from "../model/support/enforced-trace.js"

const BYTES = 'merlon_control_push_bytes_total{type="proxy"}'
const CONNECTED = "merlon_control_connected_proxies"

describe("restarting the control plane", () => {
  let mesh: Mesh
  let httpbin: DeclaredWorkload
  let caller: DeclaredWorkload
  /**
   * Created before the first restart, for the first three tests: a session, and a proxy that disconnected with its
   * state.
   */
  let session: Buffer
  let away: DeclaredWorkload
  let held: ReadonlyMap<string, string>

  beforeAll(async () => {
    mesh = await Mesh.start()
    ;[httpbin, caller] = await Promise.all([mesh.workload("httpbin"), mesh.workload("caller")])
    await mesh.api.put(policy("PeerAuthentication", "mode", { mtls: { mode: "PERMISSIVE" } }))
    await mesh.api.put(deny("secret", "/secret"))
    await mesh.api.becomes("AuthorizationPolicy", "secret", "foo", "Enforced", "True")
    await mesh.api.becomes("PeerAuthentication", "mode", "foo", "Enforced", "True")
    session = await sessionWith(httpbin)
    away = await mesh.declare("away", { namespace: "bar" })
    const proxy = await new BareProxy(away).ready()
    await mesh.api.put(deny("one", "/one", undefined, "bar"))
    await mesh.api.put(deny("two", "/two", undefined, "bar"))
    for (const name of ["one", "two"]) await mesh.api.becomes("AuthorizationPolicy", name, "bar", "Enforced", "True")
    held = new Map(proxy.held)
    proxy.close()
  })
  afterAll(() => mesh.close())

  it("leaves proxies serving, and they reconnect without a full resend", async () => {
    await mesh.control.kill()
    expect(await httpbin.get("/public")).toBe(200)
    expect(await httpbin.get("/secret")).toBe(403)
    expect(await httpbin.getAs(caller, "/public")).toBe(200)
    expect(await httpbin.getAs(caller, "/secret")).toBe(403)

    await mesh.control.run()
    await expect.poll(() => mesh.control.metric(CONNECTED), WAIT).toBe(2)
    // Both have reported again what they enforce, so everything that had to be sent has been sent.
    await expect
      .poll(async () => (await mesh.api.condition("AuthorizationPolicy", "secret", "foo", "Enforced"))?.message, WAIT)
      .toBe("enforced by 2 of 2 proxies at generation 1")
    await expect.poll(() => mesh.control.metric('merlon_control_pushes_total{type="proxy"}'), WAIT).toBe(2)
    expect(await mesh.control.metric(BYTES)).toBe(0)

    await mesh.api.put(deny("secret", "/other"))
    await mesh.api.becomes("AuthorizationPolicy", "secret", "foo", "Enforced", "True")
    expect([await httpbin.get("/secret"), await httpbin.get("/other")]).toEqual([200, 403])
    expect(await mesh.control.metric(BYTES)).toBeGreaterThan(0)
  })

  it("sends a returning proxy only what changed meanwhile", async () => {
    await mesh.api.put(deny("one", "/changed", undefined, "bar"))
    await mesh.api.delete("AuthorizationPolicy", "two", "bar")

    const again = new BareProxy(away)
    for (const [name, version] of held) again.held.set(name, version)
    await expect
      .poll(() => again.updates.flatMap(({ removed }) => removed), WAIT)
      .toEqual(["policy/AuthorizationPolicy/bar/two"])
    await mesh.api.becomes("AuthorizationPolicy", "one", "bar", "Enforced", "True")
    expect(new Set(again.sent)).toEqual(new Set(["policy/AuthorizationPolicy/bar/one"]))
    again.close()
  })

  it("proxies resume their TLS sessions, until one is revoked", async () => {
    const isResumed = async (): Promise<boolean> => {
      const socket = dial(httpbin, session)
      await once(socket, "secureConnect")
      const resumed = socket.isSessionReused()
      socket.destroy()
      return resumed
    }
    expect(await isResumed()).toBe(true)
    const metadata = { name: `${names.mesh}-revocations`, namespace: names.rootNamespace }
    await mesh.api.put({ apiVersion: "v1", kind: "ConfigMap", metadata, data: { serials: "4f0a" } })
    await expect.poll(isResumed, WAIT).toBe(false)
    await mesh.api.put({ apiVersion: "v1", kind: "ConfigMap", metadata, data: {} })
  })

  it("a proxy that restarts meanwhile enforces the last good configuration, with mTLS", async () => {
    await mesh.api.put(policy("PeerAuthentication", "mode", { mtls: { mode: "STRICT" } }))
    await mesh.api.becomes("PeerAuthentication", "mode", "foo", "Enforced", "True")
    await mesh.control.kill()
    await httpbin.xserver.kill()
    await httpbin.run()
    expect(httpbin.xserver.stderr).toContain("enforcing the last good configuration")
    expect(await httpbin.get("/public")).toBe(0)
    expect(await httpbin.getAs(caller, "/public")).toBe(200)
    expect(await httpbin.getAs(caller, "/other")).toBe(403)

    await mesh.control.run()
    await mesh.api.put(deny("secret", "/third"))
    await mesh.api.becomes("AuthorizationPolicy", "secret", "foo", "Enforced", "True")
    expect(await httpbin.getAs(caller, "/third")).toBe(403)
    expect(await httpbin.getAs(caller, "/other")).toBe(200)
  })

  it("keeps Enforced true to what proxies judge by, and leaves a trace for the model", async () => {
    const trace = new EnforcedTrace()
    const change = async (generation: number): Promise<void> => {
      await mesh.api.put(deny("traced", `/traced-${generation}`, "httpbin"))
      if (generation > 1) trace.add({ kind: "changed", generation })
    }
    const judge = async (newest: number): Promise<void> => {
      for (let generation = 1; generation <= newest; generation++) {
        const status = await httpbin.getAs(caller, `/traced-${generation}`)
        if (status === 403) trace.add({ kind: "judged", generation })
      }
    }
    const enforced = async (generation: number): Promise<void> => {
      await mesh.api.becomes("AuthorizationPolicy", "traced", "foo", "Enforced", "True")
      trace.add({ kind: "enforced", generation })
      await judge(generation)
    }
    await change(1)
    await enforced(1)
    await change(2)
    await judge(2)
    await enforced(2)
    await mesh.control.kill()
    trace.add({ kind: "control plane killed" })
    await judge(2)
    await httpbin.xserver.kill()
    trace.add({ kind: "proxy killed" })
    await httpbin.run()
    trace.add({ kind: "proxy started" })
    await judge(2)
    await mesh.control.run()
    trace.add({ kind: "control plane started" })
    await change(3)
    await judge(3)
    await enforced(3)

    expect(trace.judgedTooLate).toEqual([])
    expect(trace.events.filter(({ kind }) => kind === "judged").length).toBeGreaterThanOrEqual(6)
    trace.save("control-restart")
  })

  it("loses no stored change in repeated restarts", async () => {
    await mesh.api.put(policy("PeerAuthentication", "mode", { mtls: { mode: "PERMISSIVE" } }))
    const paths = Array.from({ length: 12 }, (_, index) => `/chaos-${index}`)
    for (const [index, path] of paths.entries()) {
      const stored = (): Promise<string> => mesh.api.put(deny(`chaos-${index}`, path)).then(() => "stored", String)
      await expect.poll(stored, WAIT).toBe("stored")
      // While it is processing the change.
      if (index % 4 === 3) {
        await mesh.control.kill()
        await mesh.control.run()
      }
    }
    await expect
      .poll(() => Promise.all(paths.map(path => httpbin.get(path))), { timeout: 90_000, interval: 200 })
      .toEqual(paths.map(() => 403))
    expect(await httpbin.get("/public")).toBe(200)
  })
})

/** Connects like a proxy of this workload. */
function dial({ trustBundle, declaration }: DeclaredWorkload, session?: Buffer): TLSSocket {
  const socket = connect({
    host: "127.0.0.1",
    port: declaration.meshPort,
    servername: `${names.mesh}d.${names.rootNamespace}.svc`,
    ca: trustBundle,
    ALPNProtocols: ["h2"],
    ...(session === undefined ? {} : { session }),
  })
  return socket.resume()
}

async function sessionWith(workload: DeclaredWorkload): Promise<Buffer> {
  const socket = dial(workload)
  const [session]: Buffer[] = await once(socket, "session")
  socket.destroy()
  return session ?? expect.fail("a session")
}
