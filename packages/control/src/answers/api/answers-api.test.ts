// SPDX-License-Identifier: Apache-2.0
// What the API of answers says to somebody whom no API server vouches for: what can be asked, and nothing else.

import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { meshNames } from "@merlon/policy"
import { afterAll, beforeAll, expect, it } from "vitest"
import { AnswersApi } from "./answers-api.js"

let server: Server
beforeAll(async () => {
  const api = new AnswersApi({
    client: undefined as never, // whoever is nobody is asked about nowhere
    names: meshNames(),
    frontProxy: () => undefined,
    seen: undefined as never, // and is told nothing
    proved: undefined as never, // of either kind
    log: message => expect.unreachable(message),
  })
  server = createServer((asked, reply) => void api.answer(asked, reply))
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
})
afterAll(() => new Promise(resolve => server.close(resolve)))

const ask = (path: string, method = "GET"): Promise<Response> =>
  fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { method }) // it listens on a port

// The API server asks for the last one before it calls the API available, and lets no namespace end while it is not.
it.each([
  "/apis",
  "/apis/answers.merlon.dev",
  "/apis/answers.merlon.dev/v1alpha1",
  "/apis/answers.merlon.dev/v1alpha1/",
])("tells everybody what there is: %s", async path => {
  const answer = await ask(path)
  expect(answer.status).toBe(200)
  expect(await answer.json()).toMatchObject({ kind: expect.stringMatching(/^API/) })
})

it.each([
  ["GET", "/apis/answers.merlon.dev/v1alpha1/calls"],
  ["GET", "/apis/answers.merlon.dev/v1alpha1/namespaces/foo/decisions"],
  ["GET", "/apis/answers.merlon.dev/v1alpha2"],
  ["GET", "/apis/other.example/v1"],
  ["POST", "/apis/answers.merlon.dev/v1alpha1/explanations"],
  ["POST", "/apis/answers.merlon.dev/v1alpha1"],
])("answers nobody's question: %s %s", async (method, path) => {
  const answer = await ask(path, method)
  expect(answer.status).toBe(401)
  expect(await answer.json()).toMatchObject({ kind: "Status", message: "ask through the API server of the cluster" })
})
