// SPDX-License-Identifier: Apache-2.0
//
// Reading the response of a webhook. A response that is not a verdict on the request is a failure, which the webhook's
// failure policy may ignore. A patch that cannot be parsed is never ignored.

import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { loadCredentials } from "../auth/pki.js"
import { OracleWebhooks } from "../testing/oracle/webhooks.js"
import type { Json } from "../value.js"
import { callWebhook, closeAgents, UndecodablePatch, type Verdict, WebhookFailure } from "./client.js"

const VERSION = "admission.k8s.io/v1"
const REVIEW = { apiVersion: VERSION, kind: "AdmissionReview", request: { uid: "asked" } }

let folder: string
let hooks: OracleWebhooks
let caBundle: string
let keyPair: { readonly cert: string; readonly key: string }
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "webhook-client-"))
  const { caCertificate, serverCertificate, serverKey } = await loadCredentials(folder, [], Date.now())
  caBundle = Buffer.from(caCertificate).toString("base64")
  keyPair = { cert: serverCertificate, key: serverKey }
  hooks = new OracleWebhooks(serverCertificate, serverKey)
  await hooks.start()
})
afterAll(async () => {
  await closeAgents()
  await hooks.close()
  await rm(folder, { recursive: true, force: true })
})

const ask = (seconds = 30, target = { url: `${hooks.url}/hook`, caBundle }): Promise<Verdict> =>
  callWebhook(target, REVIEW, seconds, VERSION)
const answered = (response: Json, more = {}): Json => ({
  ...{ apiVersion: VERSION, kind: "AdmissionReview", response },
  ...more,
})
const base64 = (text: string): string => Buffer.from(text).toString("base64")
const good = { uid: "<echo-uid>", allowed: true }

it("reads a verdict with its warnings and its patch", async () => {
  const operations = [{ op: "add", path: "/metadata/labels", value: { a: "b" } }]
  const patch = { patch: base64(JSON.stringify(operations)), patchType: "JSONPatch" }
  hooks.routes = { "/hook": { body: answered({ ...good, ...patch, warnings: ["mind", 7] }) } }
  expect(await ask()).toEqual({ allowed: true, status: {}, warnings: ["mind"], patch: operations })
})

it("treats anything but `allowed: true` as a rejection", async () => {
  for (const allowed of [false, "true", 1, null]) {
    hooks.routes = { "/hook": { body: answered({ ...good, allowed, status: { message: "no" } }) } }
    expect(await ask()).toMatchObject({ allowed: false, status: { message: "no" } })
  }
})

it.each<[string, object, RegExp]>([
  ["to another request", { body: answered({ uid: "another", allowed: true }) }, /expected response.uid="asked"/],
  ["of another version", { body: answered(good, { apiVersion: "admission.k8s.io/v1beta1" }) }, /expected webhook/],
  ["of another kind", { body: answered(good, { kind: "Pod" }) }, /no kind "Pod" is registered/],
  ["of no kind", { body: {} }, /got \/, Kind=/],
  ["without a response", { body: answered(null) }, /webhook response was absent/],
  ["that is not JSON", { rawBody: "yes" }, /couldn't get version\/kind/],
  ["that is empty", { rawBody: "" }, /0-length response/],
  [
    "with a patch but no patch type",
    { body: answered({ ...good, patch: base64("[]") }) },
    /but not response.patchType/,
  ],
  ["with a patch type but no patch", { body: answered({ ...good, patchType: "JSONPatch" }) }, /but not response.patch/],
  ["with an error status", { status: 500, rawBody: "{}" }, /an error on the server/],
  ["from a path that does not exist", { status: 404, rawBody: "" }, /could not find the requested resource/],
  ["longer than 3 MiB", { rawBody: " ".repeat(3 * 1024 * 1024 + 1) }, /less than or equal to 3 MiB/],
])("treats a response %s as a failure", async (_, route, message) => {
  hooks.routes = { "/hook": route }
  const failure = await ask().catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(WebhookFailure)
  expect(String(failure)).toMatch(message)
})

it("never ignores a patch that cannot be parsed", async () => {
  for (const patch of ["not a list", '{"op":"add"}']) {
    hooks.routes = { "/hook": { body: answered({ ...good, patch: base64(patch), patchType: "JSONPatch" }) } }
    expect(await ask().catch((error: unknown) => error)).toBeInstanceOf(UndecodablePatch)
  }
})

it("reports connection errors in the words of kube-apiserver", async () => {
  hooks.routes = { "/hook": { body: answered(good), delay: 5 } }
  await expect(ask(1)).rejects.toThrow("context deadline exceeded")
  await expect(ask(30, { url: "https://127.0.0.1:1/hook", caBundle })).rejects.toThrow("connection refused")
  // The CA bundle does not contain the authority of this certificate.
  await expect(ask(30, { url: `${hooks.url}/hook`, caBundle: "" })).rejects.toThrow("signed by unknown authority")
})

it("retries once when the connection closes before a response, and only once", async () => {
  let toEnd = 1
  let asked = 0
  const server = createServer(keyPair, (request, response) => {
    asked++
    if (toEnd-- > 0) request.socket.destroy()
    else response.end(JSON.stringify(answered({ uid: "asked", allowed: true })))
  })
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  const target = { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, caBundle }
  try {
    expect(await ask(30, target)).toMatchObject({ allowed: true })
    expect(asked).toBe(2)
    toEnd = 5
    await expect(ask(30, target)).rejects.toThrow("EOF")
    expect(asked).toBe(4)
  } finally {
    await closeAgents()
    server.close()
  }
})
