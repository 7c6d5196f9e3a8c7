// SPDX-License-Identifier: Apache-2.0
// Invalid policies are rejected when applied, and nothing of them is stored.

import { describe, expect, it } from "vitest"
import { ISSUER, policy } from "../support/manifests.js"
import { type Mission, succeeded } from "../support/mission.js"

const KEYS = JSON.stringify({
  keys: [{ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }],
})
const URI = "https://issuer.example/jwks.json"

const ERRORS: readonly [string, object, RegExp][] = [
  [
    "a relative `jwksUri` is rejected",
    { jwtRules: [{ issuer: ISSUER, jwksUri: "/jwks.json" }] },
    /jwtRules\[0\]\.jwksUri.*url must have scheme http:\/\/ or https:\/\//,
  ],
  [
    "`jwks` beside `jwksUri` is rejected",
    { jwtRules: [{ issuer: ISSUER, jwksUri: URI, jwks: KEYS }] },
    /jwtRules\[0\].*only one of jwks or jwksUri can be set/,
  ],
  [
    "an unknown field is rejected, with the nearest name",
    { selecter: { matchLabels: { app: "httpbin" } }, jwtRules: [{ issuer: ISSUER, jwksUri: URI }] },
    /unknown field `selecter`; did you mean `selector`\?/,
  ],
]

export function admission(mission: () => Mission): void {
  const manifest = (spec: object): string => policy(mission().names, "RequestAuthentication", "wrong", "foo", spec)

  describe("at apply time", () => {
    it.each(ERRORS)("%s, and nothing is stored", async (_, spec, message) => {
      const applied = await mission().ctl(["apply", "-f", "-"], manifest(spec))
      expect(applied.code).toBe(1)
      expect(applied.err).toMatch(message)
      const listed = succeeded(await mission().ctl(["get", "requestauthentications", "-A", "-o", "name"]))
      expect(listed.out).toBe("")
    })

    it.each(ERRORS)("%s by the validation webhook itself", async (_, spec, message) => {
      const { status, body } = await review(mission(), JSON.parse(manifest(spec)))
      expect(status).toBe(200)
      const { response } = JSON.parse(body)
      expect(response).toMatchObject({ uid: "1", allowed: false })
      expect(response.status.message).toMatch(message)
    })

    it("and the server calls it: kubectl reports what only the webhook checks", async () => {
      const [, spec, message] = ERRORS[2] ?? expect.fail("an error that the schema does not know")
      const { code, err } = await mission().kubectl(["apply", "-f", "-"], manifest(spec))
      expect(code).toBe(1)
      expect(err).toMatch(message)
    })
  })
}

/** Sends the API server's request directly to the webhook, at its registered path. */
async function review(mission: Mission, object: { readonly metadata: object }) {
  const { securityGroup: group, version } = mission.names
  const request = {
    uid: "1",
    kind: { group, version, kind: "RequestAuthentication" },
    resource: { group, version, resource: "requestauthentications" },
    name: "wrong",
    namespace: "foo",
    operation: "CREATE",
    userInfo: {},
    object,
  }
  const body = JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request })
  const registered = succeeded(await mission.kubectl(["get", "validatingwebhookconfigurations", "-o", "json"]))
  const url = /https:\/\/[^"]+\/validate(?=")/.exec(registered.out)?.[0] ?? expect.fail("no webhook is registered")
  return mission.curl(url, "-H", "Content-Type: application/json", "-d", body)
}
