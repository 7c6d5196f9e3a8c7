// SPDX-License-Identifier: Apache-2.0
// Queries between two replicas over real sockets and TLS: which clients get an answer, which servers are trusted, and
// the limits on time and size.

import { generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import type { ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { connect, createServer, type TLSSocket } from "node:tls"
import { CertificateAuthority, createRoot } from "@merlon/identity"
import { meshConfig } from "@merlon/policy/mesh"
import { afterEach, describe, expect, it, vi } from "vitest"
import type { KnownReplica, KnownReplicas } from "./known-replicas.js"
import { OtherReplicas } from "./other-replicas.js"
import { ReplicaCaller, type ReplicaCallerOptions } from "./replica-caller.js"
import { replicaIdentity } from "./replica-names.js"
import { type ReplicaCredentials, ReplicaServer, type ReplicaServerOptions } from "./replica-server.js"

const identity = replicaIdentity(meshConfig({}))
const NO_REVOCATIONS = { revokedIdentities: [], revokedSerials: [] }
const PATIENCE = { timeout: 90_000 }

class Root {
  readonly keys = createRoot({ trustDomain: "cluster.local", now: Date.now() })
  readonly authority = new CertificateAuthority(this.keys, Date.now())

  credentials(uri = identity.uri, dnsName = identity.dnsName): ReplicaCredentials {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    const { certificateChain } = this.authority.signServer({
      ...{ identity: uri, dnsNames: [dnsName], ipAddresses: [], ttlMs: 3_600_000, now: Date.now() },
      publicKey: publicKey.export({ type: "spki", format: "der" }),
    })
    const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString()
    return {
      certificate: certificateChain,
      key,
      trust: { bundle: this.keys.certificateChain, signer: "", ...NO_REVOCATIONS },
    }
  }
}

const root = new Root()
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function serve(
  options: Partial<ReplicaServerOptions> = {},
  name = "b",
): Promise<KnownReplica & { server: ReplicaServer }> {
  const credentials = root.credentials()
  const server = new ReplicaServer({
    credentials: () => credentials,
    identity,
    answer: async (path, query) => ({ path, query: query.toString() }),
    follow: () => false,
    log: () => undefined,
    ...options,
  })
  closers.push(() => server.close())
  return { name, host: "127.0.0.1", port: await server.listen(0, "127.0.0.1"), server }
}

function caller(options: Partial<ReplicaCallerOptions> = {}): ReplicaCaller {
  const credentials = root.credentials()
  const made = new ReplicaCaller({ credentials: () => credentials, identity, answerMs: 90_000, ...options })
  closers.push(() => made.close())
  return made
}

const query = new URLSearchParams({ namespace: "foo" })

it("is answered", async () => {
  const replica = await serve()
  expect(await caller().ask(replica, "/v1/x", query)).toEqual({ path: "/v1/x", query: "namespace=foo" })
})

it("distinguishes a missing object from no answer", async () => {
  expect(await caller().ask(await serve({ answer: async () => undefined }), "/v1/x", query)).toBeUndefined()
  const breaks = await serve({ answer: () => Promise.reject(new Error("x")) })
  await expect(caller().ask(breaks, "/v1/x", query)).rejects.toThrow("it answered 500")
})

describe("a client must be a control plane of this mesh", () => {
  it.each([
    ["another identity", root.credentials("spiffe://cluster.local/ns/foo/sa/web"), /403.*not the control plane/],
    ["a workload's certificate", root.credentials(identity.uri, "web.foo.svc"), /403.*belongs to a workload/],
  ] as const)("%s is rejected", async (_, credentials, received) => {
    const asked = vi.fn(async () => ({}))
    const replica = await serve({ answer: asked })
    await expect(caller({ credentials: () => credentials }).ask(replica, "/v1/x", query)).rejects.toThrow(received)
    expect(asked).not.toHaveBeenCalled()
  })

  it("another root gets no connection", async () => {
    const strange = { ...new Root().credentials(), trust: root.credentials().trust }
    await expect(caller({ credentials: () => strange }).ask(await serve(), "/v1/x", query)).rejects.toThrow()
  })

  it("a revoked replica is rejected at the next query", async () => {
    const mine = root.credentials()
    let trust = mine.trust
    const replica = await serve({ credentials: () => ({ ...mine, trust }) })
    const pending = caller()
    await pending.ask(replica, "/v1/x", query)
    trust = { ...trust, revokedIdentities: [identity.uri] }
    await expect(pending.ask(replica, "/v1/x", query)).rejects.toThrow(/403.*revoked/)
  })
})

describe("unauthorized clients at the replica port", () => {
  const workload = root.credentials("spiffe://cluster.local/ns/foo/sa/web")

  /**
   * Sends bytes as a client with these credentials; returns the status and whether the server closes the connection.
   */
  async function resultOf(
    port: number,
    bytes: string,
    { certificate, key }: Partial<ReplicaCredentials>,
  ): Promise<string> {
    const own = certificate === undefined || key === undefined ? {} : { cert: certificate, key }
    const socket = connect({
      host: "127.0.0.1",
      port,
      ca: root.keys.certificateChain,
      servername: identity.dnsName,
      ...own,
    })
    socket.on("error", () => undefined)
    closers.push(() => socket.destroy())
    let text = ""
    socket.on("data", chunk => {
      text += String(chunk)
    })
    socket.write(bytes)
    await new Promise(resolve => socket.once("close", resolve))
    return text
      .split("\r\n")
      .filter(line => /^HTTP|^connection/.test(line))
      .join(", ")
  }

  it.each([
    ["a client without a certificate", {}, ""],
    ["a workload", workload, "HTTP/1.1 403 Forbidden, connection: close"],
  ])("%s is disconnected, whatever it sends next", async (_, credentials, line) => {
    const asked = vi.fn(async () => ({}))
    const { port } = await serve({ answer: asked })
    const head = "POST /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\n"
    expect(await resultOf(port, head + "x".repeat(1_000_000), credentials)).toBe(line)
    expect(asked).not.toHaveBeenCalled()
  })

  it.each([
    ["an endless header", `GET /v1/x HTTP/1.1\r\nx: ${"x".repeat(1_000_000)}`],
    ["HTTP/2", `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${"\xff".repeat(100_000)}`],
  ])("%s ends the connection, even from a control plane", async (_, bytes) => {
    const asked = vi.fn(async () => ({}))
    const { port } = await serve({ answer: asked })
    expect(await resultOf(port, bytes, root.credentials())).not.toContain("200")
    expect(asked).not.toHaveBeenCalled()
  })

  it("a session does not outlive trust in its root", async () => {
    const mine = root.credentials()
    let trust = mine.trust
    const { port, server } = await serve({ credentials: () => ({ ...mine, trust }) })
    const dial = (session?: Buffer): TLSSocket => {
      const { certificate, key } = root.credentials()
      const own = { cert: certificate, key, ca: root.keys.certificateChain, servername: identity.dnsName }
      const socket = connect({ host: "127.0.0.1", port, ...own, ...(session && { session }) })
      closers.push(() => socket.destroy())
      return socket.on("error", () => undefined)
    }
    const first = dial().resume()
    first.write("GET /v1/x HTTP/1.1\r\nhost: a\r\n\r\n")
    const [session]: Buffer[] = await once(first, "session")
    trust = { ...trust, bundle: new Root().keys.certificateChain }
    server.credentialsChanged()
    const again = dial(session)
    let text = ""
    again.on("data", chunk => {
      text += String(chunk)
    })
    again.write("GET /v1/x HTTP/1.1\r\nhost: a\r\n\r\n")
    await new Promise(resolve => again.once("close", resolve))
    expect(text).toBe("")
  })
})

describe("a server must be a control plane too", () => {
  it.each([
    ["of another identity", root.credentials("spiffe://cluster.local/ns/foo/sa/web"), "not the control plane"],
    ["with a workload's certificate", root.credentials(identity.uri, "web.foo.svc"), "belongs to a workload"],
    ["of another root", new Root().credentials(), /certificate|unable|self/],
  ] as const)("a server %s gets no query", async (_, credentials, received) => {
    const asked = vi.fn(async () => ({}))
    const replica = await serve({ credentials: () => credentials, answer: asked })
    await expect(caller().ask(replica, "/v1/x", query)).rejects.toThrow(received)
    expect(asked).not.toHaveBeenCalled()
  })
})

describe("an answer has", () => {
  it("a time limit", async () => {
    const hangs = await serve({ answer: () => new Promise(() => undefined) })
    await expect(caller({ answerMs: 200 }).ask(hangs, "/v1/x", query)).rejects.toThrow(/said nothing|aborted/)
  })

  it("an end, even if the connection switches protocols", async () => {
    const { certificate, key, trust } = root.credentials()
    const options = { cert: certificate, key, ca: trust.bundle, requestCert: true }
    const switches = createServer(options, socket => {
      socket
        .on("error", () => undefined)
        .once("data", () => {
          socket.end("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n")
        })
    })
    closers.push(() => switches.close())
    await once(switches.listen(0, "127.0.0.1"), "listening")
    const { port } = switches.address() as AddressInfo // the server listens on TCP
    const asked = caller().ask({ name: "b", host: "127.0.0.1", port }, "/v1/x", query)
    await expect(asked).rejects.toThrow("closed the connection without a response")
  })

  it("a size limit, as have all answers together", async () => {
    const large = await serve({ answer: async () => ({ text: "x".repeat(100_000) }) })
    await expect(caller({ maxAnswer: 50_000 }).ask(large, "/v1/x", query)).rejects.toThrow("larger than the limit")
    const pending = caller({ maxHeld: 150_000 })
    await pending.ask(large, "/v1/x", query)
    // The memory of earlier answers is free again.
    await pending.ask(large, "/v1/x", query)
    await expect(caller({ maxHeld: 50_000 }).ask(large, "/v1/x", query)).rejects.toThrow("larger than the limit")
  })
})

describe("with several replicas", () => {
  const known = (others: readonly KnownReplica[]) => {
    let listener: () => void = () => undefined
    const state = { others }
    return {
      known: {
        get others() {
          return state.others
        },
        onChange: (received: () => void) => {
          listener = received
          return () => undefined
        },
      } satisfies Pick<KnownReplicas, "others" | "onChange">,
      become: (next: readonly KnownReplica[]) => {
        state.others = next
        listener()
      },
    }
  }
  const replicas = (others: readonly KnownReplica[]) => {
    const received = known(others)
    return { ...received, all: new OtherReplicas({ known: received.known, caller: caller(), log: () => undefined }) }
  }

  it("answers are merged, and silent replicas are named", async () => {
    const [b, fails] = [await serve(), await serve({ answer: () => Promise.reject(new Error("x")) }, "fails")]
    const gone = await serve({}, "gone")
    await gone.server.close()
    const { all } = replicas([gone, b, fails])
    const { answers, silent } = await all.ask("/v1/x", query)
    expect(answers).toEqual([{ path: "/v1/x", query: "namespace=foo" }])
    expect(silent).toEqual(["fails", "gone"])
  })

  it("the first result is enough", async () => {
    const [b, hangs] = [await serve(), await serve({ answer: () => new Promise(() => undefined) }, "hangs")]
    const { all } = replicas([hangs, b])
    expect(await all.first("/v1/x", query)).toMatchObject({ found: { path: "/v1/x" }, silent: [] })
  })

  it("streams are merged while replicas are added, disconnect and are removed", async () => {
    const open = new Map<string, ServerResponse>()
    const following = (name: string) =>
      serve(
        {
          follow: (_, __, reply) => {
            reply.writeHead(200).write(`{"from":"${name}"}\n`)
            open.set(name, reply)
            return true
          },
        },
        name,
      )
    const [b, c] = [await following("b"), await following("c")]
    const { all, become } = replicas([b])
    const result: unknown[] = []
    const silent: string[] = []
    const stop = all.follow("/v1/follow", query, {
      onLine: line => result.push(line),
      silent: names => silent.push(names.join()),
    })
    await vi.waitFor(() => expect(result).toEqual([{ from: "b" }]), PATIENCE)
    become([b, c])
    await vi.waitFor(() => expect(result).toEqual([{ from: "b" }, { from: "c" }]), PATIENCE)
    expect(silent).toEqual([])
    open.get("c")?.destroy()
    // It is reported as silent, and then heard again.
    await vi.waitFor(() => expect(silent).toEqual(["c", ""]), PATIENCE)
    await vi.waitFor(() => expect(result.at(-1)).toEqual({ from: "c" }), PATIENCE)
    await c.server.close()
    await vi.waitFor(() => expect(silent.at(-1)).toBe("c"), PATIENCE)
    become([b])
    expect(silent.at(-1)).toBe("")
    stop()
    await vi.waitFor(() => expect(open.get("b")?.closed).toBe(true), PATIENCE)
  })
})
