// SPDX-License-Identifier: Apache-2.0
// A proxy's clock that is changed while it runs, around the expiry of a token that it has verified and cached, and of a
// caller's certificate whose session it would resume.
// @module-tag needs/libfaketime

import https from "node:https"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { afterAll, beforeAll, expect, it } from "vitest"
import { Authority, OWN_ID } from "../../packages/xserver/src/accept/testing/certificates.js"
import { type Application, startApplication } from "../e2e/support/application.js"
import { XserverProcess } from "../e2e/support/xserver.js"
import { WrongClock } from "./support/wrong-clock.js"

const SLOW = { timeout: 60_000, interval: 200 }
const MINUTES = 60
const authority = new Authority()
/** Valid for another hour, as the token is for half an hour. */
const caller = authority.issue()
const agent = new https.Agent({
  cert: caller.certificate,
  key: caller.privateKey,
  ca: authority.certificate,
  // The server certificate contains its SPIFFE id, not the address that we dial.
  checkServerIdentity: () => undefined,
})
const clock = new WrongClock()
let application: Application
let xserver: XserverProcess
let token = ""

beforeAll(async () => {
  const { publicKey, privateKey } = await generateKeyPair("ES256")
  const now = Math.floor(Date.now() / 1_000)
  token = await new SignJWT({ sub: "a" })
    .setProtectedHeader({ alg: "ES256", kid: "k" })
    .setIssuer("https://issuer.test")
    .setNotBefore(now - 10 * MINUTES)
    .setExpirationTime(now + 30 * MINUTES)
    .sign(privateKey)
  const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }] })
  const document = (kind: string, spec: object): object => ({
    apiVersion: "security.merlon.dev/v1",
    kind,
    metadata: { name: "p", namespace: "foo" },
    spec,
  })
  application = await startApplication()
  xserver = await XserverProcess.start({
    upstream: application.port,
    policies: [
      document("RequestAuthentication", { jwtRules: [{ issuer: "https://issuer.test", jwks }] }),
      document("AuthorizationPolicy", {
        action: "ALLOW",
        rules: [{ from: [{ source: { requestPrincipals: ["https://issuer.test/a"] } }] }],
      }),
    ],
    tls: authority.material({ uris: [OWN_ID], notAfter: new Date(Date.now() + 12 * 3_600_000) }),
    env: clock.env,
  })
})
afterAll(async () => {
  agent.destroy()
  await xserver.remove()
  await application.close()
  clock.close()
})

/** 0 if the handshake fails. */
function call(): Promise<number> {
  return new Promise(resolve => {
    const headers = { authorization: `Bearer ${token}` }
    const asked = https.get({ host: "127.0.0.1", port: xserver.port, path: "/get", agent, headers }, response => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0))
    })
    asked.on("error", () => resolve(0))
  })
}

it.each([
  ["+31m", "past the token's expiry", 401],
  ["-20m", "before the token is valid", 401],
  ["+2h", "past the certificate's expiry, which its session does not outlive", 0],
])("rejects at %s, %s, and allows again when the clock is right", async (offset, _, status) => {
  await expect.poll(call, SLOW).toBe(200)
  clock.set(offset)
  await expect.poll(call, SLOW).toBe(status)
  clock.set("+0")
  await expect.poll(call, SLOW).toBe(200)
})
