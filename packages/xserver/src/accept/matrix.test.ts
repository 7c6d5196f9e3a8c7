// SPDX-License-Identifier: Apache-2.0
// Connects every kind of client under every mode to an HTTP port and a TCP port, and checks the result and how a
// failure is counted: the table of docs/semantics.md, "Peer modes".

import { once } from "node:events"
import { createServer } from "node:http"
import { connect, type Server, type Socket } from "node:net"
import { type ConnectionOptions, connect as connectTls } from "node:tls"
import type { EffectiveMode } from "@merlon/policy/selection"
import { connectTcp, Http1Pool } from "@merlon/wire"
import { type Connect, Deadlines } from "@merlon/wire/http"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { forwardTo } from "../http/exchange.js"
import { serveHttp1 } from "../http1/serve.js"
import { Authority, GOOD_ID } from "./testing/certificates.js"
import { listening, type Rig, startEcho, startRig } from "./testing/rig.js"

type PortKind = "http" | "tcp"

const HOUR = 3_600_000
const REVOKED_ID = "spiffe://cluster.local/ns/shop/sa/revoked"
const authority = new Authority()
const stranger = new Authority("Somebody else's")

/** A mesh peer with this certificate. */
function meshPeer({ certificate, privateKey }: ReturnType<Authority["issue"]>): ConnectionOptions {
  return { cert: certificate, key: privateKey, ALPNProtocols: ["merlon"] }
}

const TLS_CLIENTS = {
  "the application's own TLS": {},
  "mesh mTLS, good": meshPeer(authority.issue()),
  "mesh mTLS, expired": meshPeer(
    authority.issue({ notBefore: new Date(Date.now() - 9 * HOUR), notAfter: new Date(Date.now() - HOUR) }),
  ),
  "mesh mTLS, wrong CA": meshPeer(stranger.issue()),
  "mesh mTLS, wrong trust domain": meshPeer(authority.issue({ uris: ["spiffe://evil.example/ns/shop/sa/frontend"] })),
  "mesh mTLS, revoked": meshPeer(authority.issue({ uris: [REVOKED_ID] })),
  "mesh mTLS, no certificate": { ALPNProtocols: ["merlon"] },
} satisfies Record<string, ConnectionOptions>

const CLIENTS = ["plaintext HTTP", "plain TCP", ...Object.keys(TLS_CLIENTS)] as const

/** `closed, <failure>`; `http <peer>`; `400`; `tcp` and `app-tls` for bytes that the application sent back. */
const EXPECTED: Record<EffectiveMode, Record<PortKind, Record<string, string>>> = {
  PERMISSIVE: {
    http: {
      "plaintext HTTP": "http plaintext",
      "plain TCP": "400",
      "the application's own TLS": "closed, no-certificate",
      "mesh mTLS, good": `http ${GOOD_ID}`,
      "mesh mTLS, expired": "closed, expired",
      "mesh mTLS, wrong CA": "closed, untrusted",
      "mesh mTLS, wrong trust domain": "closed, wrong-trust-domain",
      "mesh mTLS, revoked": "closed, revoked",
      "mesh mTLS, no certificate": "closed, no-certificate",
    },
    tcp: {
      "plaintext HTTP": "tcp",
      "plain TCP": "tcp",
      "the application's own TLS": "app-tls",
      "mesh mTLS, good": `tcp ${GOOD_ID}`,
      "mesh mTLS, expired": "closed, expired",
      "mesh mTLS, wrong CA": "closed, untrusted",
      "mesh mTLS, wrong trust domain": "closed, wrong-trust-domain",
      "mesh mTLS, revoked": "closed, revoked",
      "mesh mTLS, no certificate": "closed, no-certificate",
    },
  },
  STRICT: {
    http: {
      "plaintext HTTP": "closed, not-tls",
      "plain TCP": "closed, not-tls",
      "the application's own TLS": "closed, no-certificate",
      "mesh mTLS, good": `http ${GOOD_ID}`,
      "mesh mTLS, expired": "closed, expired",
      "mesh mTLS, wrong CA": "closed, untrusted",
      "mesh mTLS, wrong trust domain": "closed, wrong-trust-domain",
      "mesh mTLS, revoked": "closed, revoked",
      "mesh mTLS, no certificate": "closed, no-certificate",
    },
    tcp: {
      "plaintext HTTP": "closed, not-tls",
      "plain TCP": "closed, not-tls",
      "the application's own TLS": "closed, no-certificate",
      "mesh mTLS, good": `tcp ${GOOD_ID}`,
      "mesh mTLS, expired": "closed, expired",
      "mesh mTLS, wrong CA": "closed, untrusted",
      "mesh mTLS, wrong trust domain": "closed, wrong-trust-domain",
      "mesh mTLS, revoked": "closed, revoked",
      "mesh mTLS, no certificate": "closed, no-certificate",
    },
  },
  DISABLE: {
    http: {
      "plaintext HTTP": "http plaintext",
      "plain TCP": "400",
      ...Object.fromEntries(Object.keys(TLS_CLIENTS).map(client => [client, "closed, tls-not-accepted"])),
    },
    tcp: {
      "plaintext HTTP": "tcp",
      "plain TCP": "tcp",
      // The application's TLS accepts all of them, whatever they contain: the gate does not look inside.
      ...Object.fromEntries(Object.keys(TLS_CLIENTS).map(client => [client, "app-tls"])),
    },
  },
}

/** An application that answers with the peer that the gate reports. */
async function startNamer(): Promise<Server & { port: number }> {
  const server = createServer((request, response) => {
    const certificate = request.headers["x-forwarded-client-cert"]
    const peer = /URI=([^;]+)/.exec(String(certificate))?.[1] ?? "plaintext"
    response.setHeader("connection", "close")
    response.end(`http ${peer}`)
  })
  return Object.assign(server, { port: await listening(server) })
}

/** All that the server sends; empty if it closed the connection without a byte. */
async function answerTo(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on("error", () => undefined)
  socket.on("data", chunk => {
    chunks.push(chunk)
    const text = Buffer.concat(chunks).toString("latin1")
    // An echo server would go on forever.
    if (/^(echo|app-tls):./s.test(text)) socket.destroy()
  })
  await once(socket, "close").catch(() => undefined)
  return Buffer.concat(chunks).toString("latin1")
}

function open(client: string, port: number, payload: string): Socket {
  const target = { host: "127.0.0.1", port }
  if (!(client in TLS_CLIENTS)) {
    const socket = connect(target)
    socket.write(payload)
    return socket
  }
  const options = TLS_CLIENTS[client as keyof typeof TLS_CLIENTS]
  const socket = connectTls({ ...target, ...options, rejectUnauthorized: false })
  socket.write(payload)
  return socket
}

describe.each<EffectiveMode>(["PERMISSIVE", "STRICT", "DISABLE"])("in mode %s", mode => {
  describe.each<PortKind>(["http", "tcp"])("on a port that speaks %s", protocol => {
    let rig: Rig
    let app: Server & { port: number }

    beforeAll(async () => {
      app = protocol === "http" ? await startNamer() : await startEcho()
      const upstream = { host: "127.0.0.1", port: app.port }
      rig = await startRig({
        mode,
        authority,
        port: { protocol, upstream },
        handlers: ({ parts }) => {
          const deadlines = new Deadlines(parts.limits)
          const { limits, meters: observer } = parts
          const pooled: Connect = how => connectTcp(upstream, limits.connectTimeoutMs, how)
          const pool = new Http1Pool({ connect: pooled, limits, deadlines, observer })
          return {
            http1: serveHttp1(
              { ...parts, deadlines },
              forwardTo(() => pool),
            ),
          }
        },
      })
      rig.security.swap(authority.material(), { identities: [REVOKED_ID], serials: [] })
    })
    afterAll(async () => {
      await rig.stop()
      app.close()
    })

    test.each(CLIENTS)("%s", async client => {
      const payload =
        protocol === "http" && client !== "plain TCP"
          ? "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
          : "\x01hello\r\n\r\n"
      const [failures, records] = [rig.meters.failures.length, rig.meters.records.length]
      const answer = await answerTo(open(client, rig.port, payload))
      const expected = EXPECTED[mode][protocol][client] ?? ""
      if (expected.startsWith("closed")) {
        expect(answer).toBe("")
        await rig.meters.until(meters => meters.failures.length > failures)
        expect(`closed, ${rig.meters.failures.slice(failures).join()}`).toBe(expected)
      } else if (expected.startsWith("http")) {
        expect(answer).toMatch(/^HTTP\/1\.1 200 /)
        expect(answer.split("\r\n\r\n")[1]).toContain(expected)
      } else if (expected === "400") {
        expect(answer).toMatch(/^HTTP\/1\.1 400 /)
      } else {
        expect(answer).toMatch(expected === "app-tls" ? /^app-tls:/ : /^echo:/)
        await rig.meters.until(meters => meters.records.length > records)
        const peer = rig.meters.records.at(-1)?.peer
        expect(peer === undefined ? answer.split(":")[0]?.replace("echo", "tcp") : `tcp ${peer}`).toBe(expected)
      }
      if (!expected.startsWith("closed")) expect(rig.meters.failures.length).toBe(failures)
      await rig.meters.until(meters => meters.open === 0)
    })
  })
})
