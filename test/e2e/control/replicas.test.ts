// SPDX-License-Identifier: Apache-2.0
// Replicas of a control plane with a proxy each: every replica answers for all of them, only control planes of the mesh
// may query each other, and a replica that does not answer is named. One mesh serves all tests, in their order.

import { generateKeyPairSync } from "node:crypto"
import { type RequestOptions, request } from "node:https"
import { join } from "node:path"
import { CertificateAuthority, createRoot } from "@merlon/identity"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { LEASES } from "../../../packages/control/src/kubernetes/resource-type.js"
import { labelsOf, textOf } from "../../../packages/control/src/registry/foreign.js"
import { leadership } from "./replicas/leadership.js"
import { WAIT } from "./support/cluster-api.js"
import type { ControlProcess } from "./support/control-process.js"
import type { DeclaredWorkload } from "./support/declared-workload.js"
import { deny, Mesh } from "./support/mesh.js"
import { type Body, ReplicaApi, type WatchEvent } from "./support/replica-api.js"

let mesh: Mesh
let second: ControlProcess
let here: DeclaredWorkload
let there: DeclaredWorkload
/** By the name of the replica that is queried. */
let ask: { readonly first: ReplicaApi; readonly second: ReplicaApi }

beforeAll(async () => {
  mesh = await Mesh.start({ separateCluster: true, args: ["--replica", "first"] })
  second = await mesh.replica(["--replica", "second"])
  here = await mesh.workload("here")
  there = await mesh.workload("there", { meshPort: second.meshPort })
  const api = (port: number): ReplicaApi => new ReplicaApi(join(mesh.folder, "api"), port)
  ask = { first: api(mesh.control.webhookPort), second: api(second.webhookPort) }
  await mesh.api.put(deny("no", "/no*"))
  await mesh.api.becomes("AuthorizationPolicy", "no", "foo", "Enforced", "True")
  await known(["first", "second"])
})
afterAll(() => mesh.close())

const asked = ["first", "second"] as const

describe.each(asked)("the replica %s, queried alone", replica => {
  it("reports the proxies of both, with their revisions", async () => {
    const body = await whole(replica, "/namespaces/foo/proxies")
    expect(body.items?.map(({ metadata }) => metadata.name)).toEqual(["here", "there"])
    expect(body.items?.map(({ spec }) => spec.behind)).toEqual([0, 0])
    expect(await mesh.control.metric("merlon_control_connected_proxies")).toBe(1)
    expect(await second.metric("merlon_control_connected_proxies")).toBe(1)
  })

  it("lists the decisions of both, newest first, and finds each by its id", async () => {
    const path = `/no/${replica}`
    for (const workload of [here, there, here]) expect(await workload.get(path)).toBe(403)
    const body = await whole(replica, `/namespaces/foo/decisions?path=${path}`)
    const items = body.items ?? []
    expect(items.map(({ spec }) => textOf(spec.workload) ?? "").sort()).toEqual(["foo/here", "foo/here", "foo/there"])
    const times = items.map(({ spec }) => textOf(spec.time) ?? "")
    expect(times).toEqual([...times].sort().reverse())
    expect(body.proxies).toEqual({ asked: 2, known: 2 })
    const [newest] = items
    for (const { metadata, spec } of items) {
      const found = await whole(replica, `/decisions/${metadata.name}`)
      expect(found.spec).toMatchObject({ workload: spec.workload, rule: "foo/no[0]" })
    }
    const limited = await whole(replica, `/namespaces/foo/decisions?path=${path}&limit=1`)
    expect(limited.items).toEqual([newest])
    expect(limited.metadata).toMatchObject({ remainingItemCount: 2 })
  })

  it("reports an id that no replica has", async () => {
    await vi.waitFor(async () => {
      const { status, body } = await ask[replica].get("/decisions/nobody")
      expect(status).toBe(404)
      expect(body.message).toBe("no connected proxy has the decision `nobody` among its last thousand")
    }, WAIT)
  })

  it("describes a workload whose proxy is connected to the other", async () => {
    for (const name of ["here", "there"]) {
      const body = await whole(replica, `/namespaces/foo/workloads/${name}`)
      expect(body.spec?.pods).toMatchObject([{ name, proxy: { behind: 0 } }])
    }
  })

  it("sends the decisions of both to a client that follows", async () => {
    const seen = new Set<string>()
    const stop = await ask[replica].watch("/namespaces/foo/decisions?watch=true&path=/no/followed*", note(seen))
    await vi.waitFor(async () => {
      await Promise.all([here.get(`/no/followed-${replica}`), there.get(`/no/followed-${replica}`)])
      expect([...seen].sort()).toEqual(["foo/here", "foo/there"])
    }, WAIT)
    stop()
  })

  it("adds up the calls of the last hour over both", async () => {
    const before = await rejectedLately(replica)
    for (const workload of [here, there]) expect(await workload.get(`/no/counted-${replica}`)).toBe(403)
    await expect.poll(() => rejectedLately(replica), WAIT).toBeGreaterThanOrEqual(before + 2)
  })

  it("shows a user only what the cluster permits, wherever it is known", async () => {
    const user = { name: "somebody", groups: ["system:authenticated"] }
    for (const path of ["/proxies", "/namespaces/foo/proxies", "/namespaces/foo/decisions", "/decisions/nobody"]) {
      const { status, body } = await ask[replica].get(path, user)
      expect(status).toBe(403)
      expect(body.message).toMatch(/User "somebody" cannot (list|get) resource/)
    }
  })
})

describe("the port of replicas", () => {
  it("rejects callers without a certificate, or with one of another authority", async () => {
    const address = await addressOf("second")
    await expect(fromOutside(address, {})).rejects.toThrow()
    await expect(fromOutside(address, stranger())).rejects.toThrow()
  })

  it("rejects workloads of the mesh, whatever their certificate permits elsewhere", async () => {
    const { chain, key } = here.credentials
    const { status, body } = await fromOutside(await addressOf("second"), { cert: chain, key })
    expect(status).toBe(403)
    expect(body).toContain("is not the control plane of this mesh")
  })

  it("rejects a workload that has the control plane's own account", async () => {
    const twin = await mesh.workload("twin", { namespace: "merlon-system", serviceAccount: "merlond" })
    const { chain, key } = twin.credentials
    const { status, body } = await fromOutside(await addressOf("second"), { cert: chain, key })
    expect(status).toBe(403)
    expect(body).toContain("belongs to a workload and not to the control plane")
    await twin.close()
  })

  it("is not queried by a replica if another server answers there", async () => {
    await mesh.api.client.patch(LEASES, "merlon-replica-second", leaseAt(`${here.address}:15080`), ROOT)
    await expect
      .poll(async () => (await ask.first.get("/namespaces/foo/proxies")).body.partial, WAIT)
      .toEqual(["second"])
    // The next renewal of its Lease publishes its address again.
    await expect.poll(async () => (await ask.first.get("/namespaces/foo/proxies")).body.partial, WAIT).toBeUndefined()
  })
})

describe("while replicas come and go", () => {
  it("a stream includes new replicas and reports those that are gone", async () => {
    const seen = new Set<string>()
    const silent: string[] = []
    const stop = await ask.first.watch("/namespaces/foo/decisions?watch=true&path=/no/late*", event => {
      note(seen)(event)
      const named = event.object.metadata.annotations?.["answers.merlon.dev/silent"]
      if (event.type === "BOOKMARK" && silent.at(-1) !== (named ?? "")) silent.push(named ?? "")
    })
    const third = await mesh.replica(["--replica", "third"])
    const late = await mesh.workload("late", { meshPort: third.meshPort })
    await mesh.api.becomes("AuthorizationPolicy", "no", "foo", "Enforced", "True")
    await vi.waitFor(async () => {
      expect(await late.get("/no/late")).toBe(403)
      expect([...seen]).toContain("foo/late")
    }, WAIT)
    await third.kill()
    await vi.waitFor(() => expect(silent).toContain("third"), WAIT)
    // Its Lease is no longer renewed, and deleted.
    await known(["first", "second"])
    await vi.waitFor(() => expect(silent.at(-1)).toBe(""), WAIT)
    seen.clear()
    await vi.waitFor(async () => {
      await there.get("/no/later")
      expect([...seen]).toContain("foo/there")
    }, WAIT)
    stop()
  })

  it("one that hangs is named, and the answer does not wait for it", async () => {
    second.program.signal("SIGSTOP")
    try {
      const { body } = await ask.first.get("/namespaces/foo/proxies")
      expect(body.partial).toEqual(["second"])
      expect(body.items?.map(({ metadata }) => metadata.name)).toContain("here")
      const { status, body: missing } = await ask.first.get("/decisions/nobody")
      expect(status).toBe(404)
      expect(missing.message).toMatch(/the replica second of the control plane has not responded: retry$/)
    } finally {
      second.program.signal("SIGCONT")
    }
    await expect.poll(async () => (await ask.first.get("/namespaces/foo/proxies")).body.partial, WAIT).toBeUndefined()
  })
})

leadership(
  () => ({ mesh, second }),
  () => {
    it("it is named until another one replaces it", async () => {
      await expect
        .poll(async () => (await ask.second.get("/namespaces/foo/proxies")).body.partial, WAIT)
        .toEqual(["first"])
      await expect.poll(() => second.metric("merlon_control_leader"), WAIT).toBe(1)
      await known(["second"])
      await whole("second", "/namespaces/foo/proxies")
    })
  },
)

describe("a replica", () => {
  it("that came back is known, and answers for all of them", async () => {
    await known(["first", "second"])
    await expect
      .poll(async () => (await ask.first.get("/namespaces/foo/proxies")).body.items?.length, WAIT)
      .toBeGreaterThanOrEqual(2)
  })

  it("that shuts down removes its name", async () => {
    second.program.signal("SIGTERM")
    await second.program.exit()
    const { items } = await mesh.api.client.list(LEASES, { labelSelector: "merlon.dev/replica" })
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["merlon-replica-first"])
  })
})

const ROOT = { namespace: "merlon-system", type: "merge" } as const

function leaseAt(address: string): object {
  return { metadata: { annotations: { "merlon.dev/replica-address": address } } }
}

const note =
  (seen: Set<string>) =>
  ({ type, object }: WatchEvent): void => {
    if (type === "ADDED") seen.add(object.spec?.workload ?? "")
  }

/** Waits until no replica is missing from the answer, which may take a second try on a busy machine. */
async function whole(replica: (typeof asked)[number], path: string): Promise<Body> {
  return vi.waitFor(async () => {
    const { status, body } = await ask[replica].get(path)
    expect({ status, silent: body.partial ?? body.spec?.partial }).toEqual({ status: 200, silent: undefined })
    return body
  }, WAIT)
}

async function rejectedLately(replica: (typeof asked)[number]): Promise<number> {
  const body = await whole(replica, "/namespaces/foo/calls")
  return (body.traffic ?? []).reduce((sum, { denied }) => sum + denied, 0)
}

/** Waits until the cluster knows exactly these replicas. */
async function known(replicas: readonly string[]): Promise<void> {
  await vi.waitFor(async () => {
    const { items } = await mesh.api.client.list(LEASES, { labelSelector: "merlon.dev/replica" })
    const names = items.map(({ metadata }) => metadata.name).sort()
    expect(names).toEqual(replicas.map(replica => `merlon-replica-${replica}`))
  }, WAIT)
}

async function addressOf(replica: string): Promise<{ readonly host: string; readonly port: number }> {
  const lease = await mesh.api.client.get(LEASES, `merlon-replica-${replica}`, "merlon-system")
  const address = labelsOf(lease?.metadata.annotations)["merlon.dev/replica-address"] ?? ""
  const [host = "", port = ""] = address.split(":")
  return { host, port: Number(port) }
}

/** Rejects if the handshake fails. */
function fromOutside(
  { host, port }: { readonly host: string; readonly port: number },
  certificate: Pick<RequestOptions, "cert" | "key">,
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const options = { host, port, path: "/v1/proxies", agent: false, rejectUnauthorized: false, ...certificate }
    const pending = request(options, response => {
      let body = ""
      response.on("data", chunk => {
        body += chunk
      })
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }))
      response.on("error", reject)
    })
    pending.on("error", reject)
    pending.end()
  })
}

/** A certificate with the same content as a control plane's, signed by another authority. */
function stranger(): { readonly cert: string; readonly key: string } {
  const now = Date.now()
  const authority = new CertificateAuthority(createRoot({ trustDomain: "cluster.local", now }), now)
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const { certificateChain } = authority.signServer({
    publicKey: publicKey.export({ type: "spki", format: "der" }),
    dnsNames: ["merlond.merlon-system.svc"],
    ipAddresses: [],
    identity: "spiffe://cluster.local/ns/merlon-system/sa/merlond",
    ttlMs: 3_600_000,
    now,
  })
  return { cert: certificateChain, key: privateKey.export({ type: "pkcs8", format: "pem" }).toString() }
}
