// SPDX-License-Identifier: Apache-2.0
// RequestAuthentication alone: it defines valid tokens and requires none.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ISSUER, policy, sample } from "../support/manifests.js"
import { type Mission, succeeded } from "../support/mission.js"
import { Running } from "../support/run.js"
import { bearer, SAMPLE_KEY } from "../support/tokens.js"

const KIND = "requestauthentication"

export function requestAuthentication(mission: () => Mission): void {
  describe("RequestAuthentication alone, with inline `jwks` and no network at all", () => {
    beforeAll(async () => {
      await mission().enforce(sample("request-authentication-inline", mission().names), KIND, "jwt", "foo")
    })
    afterAll(() => mission().remove(KIND, "jwt", "foo"))

    behaves(mission, SAMPLE_KEY)

    it("reports why a token was rejected, in the wording of other meshes", async () => {
      const expired = await bearer(mission(), { issuer: ISSUER, subject: "alice", expires: "-1m" })
      expect(await mission().httpbin("/headers", ...expired)).toEqual({ status: 401, body: "Jwt is expired" })
      const foreign = await bearer(mission(), { issuer: "https://another.example", subject: "alice" })
      expect(await mission().httpbin("/headers", ...foreign)).toEqual({
        status: 401,
        body: "Jwt issuer is not configured",
      })
    })
  })

  describe("RequestAuthentication alone, with keys by `jwksUri` from a real HTTP server", () => {
    const folder = mkdtempSync(join(tmpdir(), "merlon-issuer-"))
    // A key that no other test uses: it can only have come from the server.
    const key = join(folder, "private.jwk.json")
    const keySet = join(folder, "jwks.json")
    let issuer: Running

    beforeAll(async () => {
      succeeded(await mission().merlonctl(["jwt", "keygen", "--out", folder]))
      issuer = new Running(process.execPath, ["samples/dist/issuer.js", "--port", "0"], { JWKS: keySet })
      const [, address] = await issuer.printed(/listens on (\S+)/)
      const spec = {
        selector: { matchLabels: { app: "httpbin" } },
        jwtRules: [{ issuer: ISSUER, jwksUri: `${address}/jwks.json` }],
      }
      const manifest = policy(mission().names, "RequestAuthentication", "jwt", "foo", spec)
      await mission().enforce(manifest, KIND, "jwt", "foo")
    })
    afterAll(async () => {
      await mission().remove(KIND, "jwt", "foo")
      await issuer.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    behaves(mission, key)

    it("a JWT signed with another key is rejected", async () => {
      const other = await bearer(mission(), { issuer: ISSUER, subject: "alice", key: SAMPLE_KEY })
      expect(await mission().httpbin("/headers", ...other)).toMatchObject({ status: 401 })
    })

    it("reports on the resource that the keys are available", async () => {
      const { status } = await mission().get(KIND, "jwt", "foo")
      const ready = status?.conditions?.find(({ type }) => type === "JwksReady")
      expect(ready).toMatchObject({ status: "True", message: expect.stringContaining(`\`${ISSUER}\`: 1 key of `) })
    })

    it("and continues with the current keys when that server is down", async () => {
      await issuer.stop()
      const good = await bearer(mission(), { issuer: ISSUER, subject: "bob", key })
      expect(await mission().httpbin("/headers", ...good)).toMatchObject({ status: 200 })
    })
  })
}

function behaves(mission: () => Mission, key: string): void {
  it("an invalid JWT is rejected", async () => {
    const answer = await mission().httpbin("/headers", "-H", "Authorization: Bearer invalid.token.here")
    expect(answer).toMatchObject({ status: 401 })
  })

  it("an absent JWT: 200", async () => {
    expect(await mission().httpbin("/headers")).toMatchObject({ status: 200 })
  })

  it("a valid JWT: 200, and the application does not receive it", async () => {
    const good = await bearer(mission(), { issuer: ISSUER, subject: "alice", key })
    const { status, body } = await mission().httpbin("/headers", ...good)
    expect(status).toBe(200)
    expect(Object.keys(JSON.parse(body).headers)).not.toContain("Authorization")
  })
}
