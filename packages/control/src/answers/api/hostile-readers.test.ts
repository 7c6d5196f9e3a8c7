// SPDX-License-Identifier: Apache-2.0
// Users who disconnect at once, read nothing, or use many names: each has one share, and gets it back.
// @module-tag needs/openssl

import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer, request, type Server } from "node:https"
import { type AddressInfo, connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect as connectTls } from "node:tls"
import { meshNames } from "@merlon/policy/mesh"
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest"
import { selfSigned, signedBy } from "../../kubernetes/testing/credentials.js"
import type { ObservationFollower } from "../observations.js"
import { AnswersApi } from "./answers-api.js"
import { readFrontProxy } from "./remote-user.js"

const folder = mkdtempSync(join(tmpdir(), "merlon-readers-"))
const own = selfSigned(folder, "own")
const authority = selfSigned(folder, "front-authority")
const front = signedBy(folder, authority, "front-proxy", "localhost")
const BASE = "/apis/answers.merlon.dev/v1alpha1/namespaces/foo"
const SHARE = 8
const PATIENCE = 60_000

let server: Server
let replies: ServerResponse[] = []
let permitted: Promise<void>
let follower: ObservationFollower | undefined
let following = 0
let shares: string[] = []
let listed: object[] = []

beforeAll(async () => {
  const api = new AnswersApi({
    client: {
      create: async () => {
        await permitted
        return { status: { allowed: true } }
      },
    } as never, // used only for reviews
    names: meshNames(),
    frontProxy: () => readFrontProxy({ "requestheader-client-ca-file": authority.certificate }),
    seen: {
      follow: (_: unknown, received: ObservationFollower) => {
        follower = received
        following += 1
        return () => {
          following -= 1
        }
      },
      list: () => ({ items: listed, remaining: 0, notes: {} }),
    } as never, // nothing else is used here
    proved: {
      answer: async (_question: unknown, _spec: unknown, share: string) => {
        shares.push(share)
        return {}
      },
    } as never, // nothing else is used here
    history: undefined as never, // no test uses the history
    log: (message, error) => expect.unreachable(`${message}: ${String(error)}`),
  })
  const tls = { key: own.key, cert: own.certificate, requestCert: true, rejectUnauthorized: false }
  server = createServer(tls, (asked, reply) => {
    replies.push(reply)
    void api.answer(asked, reply)
  })
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
})

beforeEach(() => {
  replies = []
  shares = []
  listed = []
  following = 0
  permitted = Promise.resolve()
})

afterEach(() => server.closeAllConnections())

afterAll(async () => {
  await new Promise(resolve => server.close(resolve))
  rmSync(folder, { recursive: true })
})

const port = (): number => (server.address() as AddressInfo).port // the server listens on a port

interface Asked {
  readonly path: string
  readonly user?: string
  readonly body?: string
}

function pending({ path, user = "jane", body }: Asked) {
  return request({
    ...{ port: port(), host: "127.0.0.1", ca: own.certificate, agent: false, key: front.key, cert: front.certificate },
    ...{ path: `${BASE}${path}`, method: body === undefined ? "GET" : "POST", headers: { "x-remote-user": user } },
  })
}

async function ask(asked: Asked): Promise<IncomingMessage> {
  const sent = pending(asked)
  sent.end(asked.body)
  const [answer] = (await once(sent, "response")) as [IncomingMessage]
  return answer
}

async function status(asked: Asked): Promise<number | undefined> {
  const answer = await ask(asked)
  answer.destroy()
  return answer.statusCode
}

/** Sends a query and reads nothing of the answer. */
async function stalled(path: string) {
  const socket = connect(port(), "127.0.0.1")
  const tls = connectTls({ socket, ca: own.certificate, key: front.key, cert: front.certificate, host: "localhost" })
  await once(tls, "secureConnect")
  tls.write(`GET ${BASE}${path} HTTP/1.1\r\nHost: localhost\r\nX-Remote-User: jane\r\n\r\n`)
  socket.pause()
  return tls
}

const large = { metadata: { name: "a", namespace: "foo" }, spec: { path: "x".repeat(4 << 20) } }

it("frees the slot of a client that left before its permission was checked", async () => {
  let permit = (): void => {}
  permitted = new Promise(resolve => {
    permit = resolve
  })
  const leaving = Array.from({ length: SHARE }, () => pending({ path: "/decisions?watch=true" }))
  for (const one of leaving) one.on("error", () => undefined).end()
  await vi.waitFor(() => expect(replies).toHaveLength(SHARE), PATIENCE)
  for (const one of leaving) one.destroy()
  await vi.waitFor(() => expect(replies.every(reply => reply.destroyed)).toBe(true), PATIENCE)
  permit()
  expect(await status({ path: "/decisions?watch=true" })).toBe(200)
  await vi.waitFor(() => expect(following).toBe(0), PATIENCE)
})

it("writes nothing after the end of a watch to a client that has not read the rest", async () => {
  const tls = await stalled("/decisions?watch=true&timeoutSeconds=1")
  await vi.waitFor(() => expect(following).toBe(1), PATIENCE)
  follower?.decided([large, large, large], 0)
  const [reply] = replies
  await vi.waitFor(() => expect(reply?.writableEnded).toBe(true), PATIENCE)
  expect(following).toBe(0)
  // It does not wait for the client forever either.
  await vi.waitFor(() => expect(reply?.destroyed).toBe(true), PATIENCE)
  if (reply?.closed === false) await once(reply, "close")
  expect(following).toBe(0)
  tls.destroy()
})

it("counts an answer until the client has read it", async () => {
  listed = Array.from({ length: 4 }, () => large)
  const readers = await Promise.all(Array.from({ length: SHARE }, () => stalled("/calls")))
  await vi.waitFor(() => expect(replies.filter(reply => reply.writableEnded)).toHaveLength(SHARE), PATIENCE)
  expect(await status({ path: "/calls" })).toBe(429)
  for (const one of readers) one.destroy()
  listed = []
  await vi.waitFor(async () => expect(await status({ path: "/calls" })).toBe(200), PATIENCE)
})

it("gives all service accounts of a namespace one share", async () => {
  const users = Array.from({ length: SHARE }, (_, index) => `system:serviceaccount:foo:account-${index}`)
  const followed = await Promise.all(users.map(user => ask({ path: "/decisions?watch=true", user })))
  expect(followed.map(answer => answer.statusCode)).toEqual(users.map(() => 200))
  const watch = { path: "/decisions?watch=true" }
  expect(await status({ ...watch, user: "system:serviceaccount:foo:another" })).toBe(429)
  expect(await status({ ...watch, user: "system:serviceaccount:bar:another" })).toBe(200)
  expect(await status({ path: "/explanations", user: users[0] ?? "", body: "{}" })).toBe(201)
  expect(await status({ path: "/explanations", body: "{}" })).toBe(201)
  expect(shares).toEqual(["system:serviceaccounts:foo", "jane"])
})

it("ends a stream of the client with the most for a client without one", async () => {
  const tenants = Array.from({ length: 16 }, (_, index) => `system:serviceaccount:tenant-${index}:account`)
  for (const user of tenants) {
    await Promise.all(Array.from({ length: SHARE }, () => ask({ path: "/decisions?watch=true", user })))
  }
  const followed = (): number => replies.filter(reply => reply.statusCode === 200 && !reply.writableEnded).length
  expect(followed()).toBe(128)
  expect((await ask({ path: "/decisions?watch=true", user: "jane" })).statusCode).toBe(200)
  expect(followed()).toBe(128)
  expect(replies.filter(reply => reply.writableEnded)).toHaveLength(1)
})

it("rejects a waiting request of the user with most requests in favour of another", async () => {
  let permit = (): void => {}
  permitted = new Promise(resolve => {
    permit = resolve
  })
  const asked = Array.from({ length: 8 * SHARE }, (_, index) => status({ path: "/calls", user: `t-${index % SHARE}` }))
  await vi.waitFor(() => expect(replies).toHaveLength(8 * SHARE), PATIENCE)
  const jane = status({ path: "/calls", user: "jane" })
  await vi.waitFor(() => expect(replies.filter(reply => reply.writableEnded)).toHaveLength(1), PATIENCE)
  permit()
  expect(await jane).toBe(200)
  const codes = await Promise.all(asked)
  expect(codes.filter(code => code === 429)).toHaveLength(1)
  expect(codes.filter(code => code === 200)).toHaveLength(8 * SHARE - 1)
})
