// SPDX-License-Identifier: Apache-2.0
// @module-tag needs/openssl
import { mkdtempSync, rmSync } from "node:fs"
import { request } from "node:https"
import { createConnection } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect } from "node:tls"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { selfSigned, type TestCredentials } from "../kubernetes/testing/credentials.js"
import type { AdmissionHandler } from "./handlers.js"
import { question, reviewBody } from "./testing/requests.js"
import { type WebhookObservation, WebhookServer } from "./webhook-server.js"

const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } }
const BODY = JSON.stringify(reviewBody(question(pod)))
const JSON_TYPE = { "content-type": "application/json; charset=utf-8" }

describe("the webhook server", () => {
  let folder: string
  let credentials: TestCredentials
  let server: WebhookServer
  let port: number
  const observed: WebhookObservation[] = []
  const logged: string[] = []

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "webhook-"))
    credentials = selfSigned(folder, "first")
    const handlers = new Map<string, AdmissionHandler>([
      [
        "/validate",
        ({ kind }) =>
          kind === "Pod"
            ? { warnings: ["w"] }
            : { rejected: { error: "invalid-policy", code: 422, reason: "Invalid", message: "no" } },
      ],
      [
        "/broken",
        () => {
          throw new Error("an error of ours")
        },
      ],
    ])
    const observe = (observation: WebhookObservation): void => void observed.push(observation)
    server = new WebhookServer({
      credentials,
      handlers,
      authenticate: path => (path.startsWith("/stranger") ? undefined : path),
      observe,
      log: message => logged.push(message),
      maxBody: 10_000,
      maxHeld: 15_000,
    })
    port = await server.listen(0, "127.0.0.1")
  })
  afterAll(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  function ask(
    path: string,
    body: string,
    { method = "POST", headers = JSON_TYPE }: { readonly method?: string; readonly headers?: object } = {},
  ): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const options = {
        host: "127.0.0.1",
        port,
        path,
        method,
        headers: { ...headers },
        ca: credentials.certificate,
        agent: false,
      }
      const asked = request(options, response => {
        let text = ""
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }))
      })
      asked.on("error", reject)
      asked.end(body)
    })
  }

  it("answers in the envelope, with the uid of the request", async () => {
    const { status, text } = await ask("/validate?timeout=10s", BODY)
    expect(status).toBe(200)
    expect(JSON.parse(text)).toEqual({
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      response: { uid: "u", allowed: true, warnings: ["w"] },
    })
    expect(observed.at(-1)).toMatchObject({ path: "/validate", outcome: "allowed" })
  })

  it("limits the bodies in memory, and frees those of broken connections", async () => {
    const slow = connect({ host: "127.0.0.1", port, ca: credentials.certificate, servername: "localhost" })
    slow.on("error", () => undefined)
    const head = "POST /validate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n"
    slow.write(`${head}${"x".repeat(8_000)}`)
    const asks = async (): Promise<number> => (await ask("/validate", "x".repeat(9_000))).status
    await expect.poll(asks).toBe(503)
    expect((await ask("/validate", BODY)).status).toBe(200)
    slow.destroy()
    await expect.poll(asks).toBe(400)
  })

  it("reads no body of a caller that is not the API server", async () => {
    const slow = connect({ host: "127.0.0.1", port, ca: credentials.certificate, servername: "localhost" })
    const head = "POST /stranger HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n"
    const answer = new Promise<string>(resolve => slow.setEncoding("utf8").once("data", resolve))
    slow.on("error", () => undefined).write(head)
    expect(await answer).toMatch(/^HTTP\/1\.1 404 [\s\S]*connection: close/i)
    slow.destroy()
  })

  it("rejects unreadable requests without a reason", async () => {
    const { status, text } = await ask("/broken", BODY)
    expect(status).toBe(200)
    expect(JSON.parse(text)).toMatchObject({ response: { uid: "u", allowed: false, status: { code: 500 } } })
    expect(text).not.toContain("an error of ours")
    expect(logged.at(-1)).toContain("/broken failed on CREATE")
    expect(observed.at(-1)).toMatchObject({ outcome: "failed" })
  })

  it.each<[string, string, string, object, number]>([
    ["a body that is not JSON", "/validate", "{", {}, 400],
    ["another document", "/validate", "{}", {}, 400],
    ["another content type", "/validate", BODY, { headers: { "content-type": "text/plain" } }, 415],
    ["a missing content type", "/validate", BODY, { headers: {} }, 415],
    ["a GET", "/validate", "", { method: "GET" }, 405],
    ["an unknown path", "/nothing", BODY, {}, 404],
    ["JSON that is nested too deeply", "/validate", `${"[".repeat(200)}${"]".repeat(200)}`, {}, 413],
    ["a caller that is not the API server", "/stranger/validate", BODY, {}, 404],
    ["a body that is too large", "/validate", "x".repeat(20_000), {}, 413],
    ["headers that are too large", "/validate", BODY, { headers: { ...JSON_TYPE, big: "x".repeat(20_000) } }, 400],
  ])("answers %s with a status", async (_, path, body, options, status) => {
    expect((await ask(path, body, options)).status).toBe(status)
  })

  it("reports that it is live", async () => {
    expect(await ask("/healthz", "", { method: "GET" })).toEqual({ status: 200, text: "ok\n" })
  })

  it("survives plaintext, garbage inside TLS, and clients that disconnect midway", async () => {
    await new Promise(resolve =>
      createConnection({ port, host: "127.0.0.1" })
        .on("close", resolve)
        .on("error", () => {})
        .resume()
        .end("GET / HTTP/1.1\r\n\r\n"),
    )
    const answer = await new Promise<string>(resolve => {
      let text = ""
      const socket = connect({ port, host: "127.0.0.1", ca: credentials.certificate }, () =>
        socket.write("\0\0garbage\r\n\r\n"),
      )
      socket
        .setEncoding("utf8")
        .on("data", (chunk: string) => (text += chunk))
        .on("close", () => resolve(text))
        .on("error", () => {})
    })
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    await new Promise(resolve => {
      const socket = connect({ port, host: "127.0.0.1", ca: credentials.certificate }, () => {
        socket.write(
          "POST /validate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
          () => socket.destroy(),
        )
      })
      socket.on("close", resolve).on("error", () => {})
    })
    expect((await ask("/validate", BODY)).status).toBe(200)
  })

  it("keeps no connection without a TLS handshake", async () => {
    const impatient = new WebhookServer({
      credentials,
      handlers: new Map(),
      authenticate: path => path,
      handshakeMs: 100,
    })
    const silent = createConnection({ port: await impatient.listen(0, "127.0.0.1"), host: "127.0.0.1" })
    await new Promise(resolve =>
      silent
        .once("close", resolve)
        .on("error", () => {})
        .resume(),
    )
    await impatient.close()
  })

  it("replaces its certificate while it serves, unless the new one is unusable", async () => {
    const second = selfSigned(folder, "second")
    expect(() => server.setKeyPair({ certificate: second.certificate, key: credentials.key })).toThrow()
    expect((await ask("/validate", BODY)).status).toBe(200)
    server.setKeyPair(second)
    await expect(ask("/validate", BODY)).rejects.toThrow(/self.signed|unable to verify/i)
    credentials = second
    expect((await ask("/validate", BODY)).status).toBe(200)
  })
})
