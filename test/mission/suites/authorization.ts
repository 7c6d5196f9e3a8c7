// SPDX-License-Identifier: Apache-2.0
// AuthorizationPolicy on top of RequestAuthentication: who may call, by subject and by claim.

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { PLAIN_ISSUER as ISSUER, policy, ISSUER as SAMPLE_ISSUER, sample } from "../support/manifests.js"
import type { Mission } from "../support/mission.js"
import { bearer } from "../support/tokens.js"

const KIND = "authorizationpolicy"
const DENIED = { status: 403, body: "RBAC: access denied" }

export function authorization(mission: () => Mission): void {
  const require = async (rule: object): Promise<void> => {
    const spec = { selector: { matchLabels: { app: "httpbin" } }, action: "ALLOW", rules: [rule] }
    const manifest = policy(mission().names, "AuthorizationPolicy", "require-jwt", "foo", spec)
    await mission().enforce(manifest, KIND, "require-jwt", "foo")
  }
  const call = async (subject: string, groups?: readonly string[]) =>
    mission().httpbin("/headers", ...(await bearer(mission(), { issuer: ISSUER, subject, ...(groups && { groups }) })))

  describe("authorization", () => {
    const tokens = (): string =>
      sample("request-authentication-inline", mission().names).replace(`issuer: ${SAMPLE_ISSUER}`, `issuer: ${ISSUER}`)

    beforeAll(() => mission().enforce(tokens(), "requestauthentication", "jwt", "foo"))
    afterAll(() =>
      mission().removeAll(tokens(), policy(mission().names, "AuthorizationPolicy", "require-jwt", "foo", {})),
    )

    describe("with an ALLOW policy that requires `<ISSUER>/<ISSUER>`", () => {
      beforeAll(() => require({ from: [{ source: { requestPrincipals: [`${ISSUER}/${ISSUER}`] } }] }))

      it("a valid token: 200", async () => {
        expect(await call(ISSUER)).toMatchObject({ status: 200 })
      })

      it("none: rejected", async () => {
        expect(await mission().httpbin("/headers")).toEqual(DENIED)
      })

      it("another subject: rejected", async () => {
        expect(await call("alice")).toEqual(DENIED)
      })
    })

    describe("with `when request.auth.claims[groups]` that contains `group1`", () => {
      beforeAll(() =>
        require({
          from: [{ source: { requestPrincipals: [`${ISSUER}/${ISSUER}`] } }],
          when: [{ key: "request.auth.claims[groups]", values: ["group1"] }],
        }),
      )

      it("a token with group1 and group2: 200", async () => {
        expect(await call(ISSUER, ["group1", "group2"])).toMatchObject({ status: 200 })
      })

      it("a token without `groups`: rejected", async () => {
        expect(await call(ISSUER)).toEqual(DENIED)
      })

      it("a token with other groups only: rejected", async () => {
        expect(await call(ISSUER, ["group2", "group10"])).toEqual(DENIED)
      })

      it("reports its effect on the resource", async () => {
        const { status } = await mission().get(KIND, "require-jwt", "foo")
        const resultOf = (wanted: string) => status?.conditions?.find(({ type }) => type === wanted)?.message
        expect(resultOf("Accepted")).toMatch(/request\.auth\.claims\[groups\].*on 1 workload in `foo`/)
        expect(resultOf("Enforced")).toBe("enforced by 1 of 1 proxy at generation 2")
      })
    })

    describe("with a policy that names a Service instead of labels", () => {
      const naming = (service: string): string =>
        policy(mission().names, "AuthorizationPolicy", "require-jwt", "foo", {
          targetRefs: [{ kind: "Service", name: service }],
        })

      it("denies calls to the workloads behind it", async () => {
        await mission().enforce(naming("httpbin"), KIND, "require-jwt", "foo")
        expect(await call(ISSUER, ["group1"])).toEqual(DENIED)
      })

      it("is not accepted without one, and blocks no caller", async () => {
        await mission().apply(naming("htpbin"))
        const accepted = async () => {
          const { status } = await mission().get(KIND, "require-jwt", "foo")
          const { reason, message } = status?.conditions?.find(({ type }) => type === "Accepted") ?? {}
          return `${reason}: ${message}`
        }
        await expect.poll(accepted).toContain("TargetNotFound: no Service `htpbin`")
        await expect.poll(() => call(ISSUER)).toMatchObject({ status: 200 })
      })
    })
  })
}
