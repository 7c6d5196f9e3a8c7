// SPDX-License-Identifier: Apache-2.0
// Issuers of every kind behind a running control plane, and tokens at a real proxy: what it accepts, and when.

import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../../../packages/cluster/src/store/testing/free-port.js"
import {
  type Answer,
  type Issuer,
  json,
  startIssuer,
  status,
} from "../../../packages/control/src/keysets/testing/issuer.js"
import { CONFIG_MAPS } from "../../../packages/control/src/kubernetes/resource-type.js"
import { names, WAIT } from "./support/cluster-api.js"
import type { DeclaredWorkload } from "./support/declared-workload.js"
import { Mesh, policy } from "./support/mesh.js"

interface Key {
  readonly jwk: JWK
  readonly token: (issuer: string) => Promise<string>
}

async function makeKey(kid: string): Promise<Key> {
  const { publicKey, privateKey } = await generateKeyPair("ES256")
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" },
    token: issuer =>
      new SignJWT({})
        .setProtectedHeader({ alg: "ES256", kid })
        .setIssuer(issuer)
        .setSubject("somebody")
        .setExpirationTime("1h")
        .sign(privateKey),
  }
}

/** For an issuer that does answer: the test is about its answer, not about five seconds on a busy machine. */
const PATIENT = "60s"

const keys = (...all: readonly Key[]): Answer => json(JSON.stringify({ keys: all.map(({ jwk }) => jwk) }))
const hanging: Answer = () => undefined
const garbage: Answer = json("<html>not keys</html>")
/** A key set that is valid except for its size. */
const enormous: Answer = (_, response) => {
  response.writeHead(200, { "content-type": "application/json" })
  response.write('{"keys":[],"padding":"')
  for (let sent = 0; sent < 10; sent++) response.write("x".repeat(1_048_576))
  response.end('"}')
}

describe("key sets", () => {
  let mesh: Mesh
  let httpbin: DeclaredWorkload
  let issuer: Issuer

  const rule = (name: string, jwtRules: readonly object[]) =>
    mesh.api.put(policy("RequestAuthentication", name, { selector: { matchLabels: { app: "httpbin" } }, jwtRules }))
  const ready = (name: string, status: string) =>
    mesh.api.becomes("RequestAuthentication", name, "foo", "JwksReady", status)
  const ask = async (key: Key, name: string): Promise<number> =>
    httpbin.get("/", { authorization: `Bearer ${await key.token(name)}` })

  beforeAll(async () => {
    mesh = await Mesh.start()
    httpbin = await mesh.workload("httpbin")
  })
  afterAll(async () => {
    await issuer?.close()
    await mesh.close()
  })

  it("follow a rotation: an unknown key id makes the control plane fetch again", async () => {
    const [first, second] = [await makeKey("first"), await makeKey("second")]
    issuer = await startIssuer(keys(first))
    await rule("rotating", [{ issuer: "rotating", jwksUri: `${issuer.url}/keys`, timeout: PATIENT }])
    await mesh.api.becomes("RequestAuthentication", "rotating", "foo", "Enforced", "True")
    await ready("rotating", "True")
    await expect.poll(() => ask(first, "rotating"), WAIT).toBe(200)
    expect(issuer.asked).toEqual(["/keys"])
    expect(await ask(second, "rotating")).toBe(401)

    issuer.answer = keys(first, second)
    // The first unknown key was reported already, and the issuer is not queried again for every request.
    await expect.poll(() => ask(second, "rotating"), { timeout: 90_000, interval: 500 }).toBe(200)
    expect(issuer.asked.length).toBeLessThanOrEqual(3)
    expect(await ask(first, "rotating")).toBe(200)
  })

  it("are found through the issuer's discovery document", async () => {
    const key = await makeKey("found")
    const found = await startIssuer((request, response) => {
      if (request.url === "/.well-known/openid-configuration") {
        json(JSON.stringify({ issuer: found.url, jwks_uri: `${found.url}/by-discovery` }))(request, response)
      } else keys(key)(request, response)
    })
    await rule("found", [{ issuer: found.url, timeout: PATIENT }])
    await ready("found", "True")
    await expect.poll(() => ask(key, found.url), WAIT).toBe(200)
    expect(found.asked).toEqual(["/.well-known/openid-configuration", "/by-discovery"])
    await found.close()
  })

  it.each([
    ["that hangs", hanging, "1s", /timed out after 1 s/],
    ["that answers garbage", garbage, PATIENT, /is not a key set/],
    ["that answers ten megabytes", enormous, PATIENT, /larger than|too large|at most|more than/],
    ["that fails", status(503), PATIENT, /503/],
  ] as const)("of an issuer %s leave those of another alone, and say why", async (_, answer, timeout, why) => {
    const key = await makeKey("good")
    const [bad, good] = [await startIssuer(answer), await startIssuer(keys(key))]
    await rule("beside", [
      { issuer: "bad", jwksUri: `${bad.url}/keys`, timeout },
      { issuer: "good", jwksUri: `${good.url}/keys`, timeout: PATIENT },
    ])
    // The first status may say that the keys are being fetched.
    await expect.poll(async () => (await ready("beside", "False")).message, WAIT).toMatch(why)
    await expect.poll(() => ask(key, "good"), WAIT).toBe(200)
    expect(await ask(key, "bad")).toBe(401)
    // Once the issuer answers, it works like any other.
    bad.answer = keys(key)
    await ready("beside", "True")
    await expect.poll(() => ask(key, "bad"), WAIT).toBe(200)
    await Promise.all([bad.close(), good.close()])
  })

  it("are never fetched from link-local and metadata addresses", async () => {
    await rule("metadata", [{ issuer: "metadata", jwksUri: "http://169.254.169.254/latest/keys" }])
    await expect.poll(async () => (await ready("metadata", "False")).message, WAIT).toMatch(/metadata service/)
    const port = await freePort()
    await rule("metadata", [{ issuer: "metadata", jwksUri: `http://[fe80::1]:${port}/keys` }])
    await expect.poll(async () => (await ready("metadata", "False")).message, WAIT).toMatch(/link-local/)
  })

  it("of an issuer that is down survive a restart of the control plane", async () => {
    const key = await makeKey("kept")
    const down = await startIssuer(keys(key))
    const kept = { namespace: names.rootNamespace, labelSelector: `${names.domain}/key-set` }
    await rule("kept", [{ issuer: "kept", jwksUri: `${down.url}/keys`, timeout: PATIENT }])
    await ready("kept", "True")
    await expect.poll(() => ask(key, "kept"), WAIT).toBe(200)
    await expect
      .poll(async () => JSON.stringify(await mesh.api.client.list(CONFIG_MAPS, kept)), WAIT)
      .toContain(down.url)
    await down.close()
    await mesh.control.kill()
    await mesh.control.run()
    await expect.poll(() => mesh.control.metric("merlon_control_connected_proxies"), WAIT).toBe(1)
    expect(await ask(key, "kept")).toBe(200)
    // A proxy that never had them gets them too.
    const fresh = await mesh.workload("fresh", { labels: { app: "httpbin" } })
    const headers = { authorization: `Bearer ${await key.token("kept")}` }
    expect(await fresh.get("/", headers)).toBe(200)
    expect(await fresh.get("/", { authorization: `Bearer ${await (await makeKey("kept")).token("kept")}` })).toBe(401)
  })
})
