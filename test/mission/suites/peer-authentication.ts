// SPDX-License-Identifier: Apache-2.0
// PeerAuthentication: whether callers need a certificate of the mesh, for the whole mesh or a namespace.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { policy, sample, together } from "../support/manifests.js"
import type { Mission } from "../support/mission.js"

const KIND = "peerauthentication"
const PATIENCE = { timeout: 90_000, interval: 500 }

export function peerAuthentication(mission: () => Mission): void {
  const root = (): string => mission().names.rootNamespace
  const setGlobal = async (mode: string): Promise<void> => {
    await mission().patch(KIND, "default", root(), { spec: { mtls: { mode } } })
    await mission().enforced(KIND, "default", root())
  }
  const setNamespace = async (namespace: string, mode: string): Promise<void> => {
    const manifest = policy(mission().names, "PeerAuthentication", "default", namespace, { mtls: { mode } })
    await mission().enforce(manifest, KIND, "default", namespace)
  }
  /** From outside of the mesh: the application's own status, or 0 if the connection is closed without a response. */
  const plaintext = async () => ({
    foo: (await mission().httpbin("/headers")).status,
    app: (await mission().web()).status,
  })
  /** From inside: how many of two calls with a certificate succeeded. */
  const mutual = async () => {
    const httpbin = await mission().xclient("--host", "httpbin.foo", "--port", "8000", "--path", "/headers", "2")
    const web = await mission().xclient("2")
    return { foo: httpbin.out, app: web.out }
  }
  const routes = (): readonly string[] => {
    const { names } = mission()
    const tls = { trafficPolicy: { tls: { mode: "DUBBO_MUTUAL" } } }
    const spec = { hosts: ["httpbin"], ...tls, routes: [{ service: [{ host: "httpbin" }] }] }
    return [policy(names, "MeshService", "httpbin", "foo", spec), sample("web-split", names)]
  }
  const ANSWERED = { foo: "httpbin 2 100%\n", app: "v1 1 50%\nv2 1 50%\n" }

  describe("PeerAuthentication", () => {
    beforeAll(async () => {
      await mission().apply(together(...routes()))
      await mission().enforce(sample("peer-permissive", mission().names), KIND, "default", root())
    })
    afterAll(() => mission().removeAll(sample("peer-permissive", mission().names), ...routes()))

    it("global PERMISSIVE in the root namespace: plaintext and mTLS succeed", async () => {
      expect(await plaintext()).toEqual({ foo: 200, app: 200 })
      expect(await mutual()).toEqual(ANSWERED)
    })

    it("merge patch to STRICT: plaintext from outside of the mesh fails, mTLS still succeeds", async () => {
      await setGlobal("STRICT")
      expect(await plaintext()).toEqual({ foo: 0, app: 0 })
      expect(await mutual()).toEqual(ANSWERED)
    })

    it("and the proxy's log has the reason of the failure", async () => {
      // Lines are batched before they are written.
      await vi.waitFor(async () => {
        const { out } = await mission().merlonctl(["logs", "httpbin", "-n", "foo", "--tail", "20"])
        expect(out).toContain("the mTLS mode is STRICT, and the caller used plaintext")
      }, PATIENCE)
    })

    it("a PERMISSIVE namespace overrides the global STRICT", async () => {
      await setNamespace("foo", "PERMISSIVE")
      expect(await plaintext()).toEqual({ foo: 200, app: 0 })
      expect(await mutual()).toEqual(ANSWERED)
    })

    it("deleting the namespace's policy restores the wider scope", async () => {
      await mission().remove(KIND, "default", "foo")
      expect(await plaintext()).toEqual({ foo: 0, app: 0 })
    })

    it("back to PERMISSIVE works", async () => {
      await setGlobal("PERMISSIVE")
      expect(await plaintext()).toEqual({ foo: 200, app: 200 })
      expect(await mutual()).toEqual(ANSWERED)
    })

    it("a STRICT namespace overrides the global PERMISSIVE", async () => {
      await setNamespace("foo", "STRICT")
      expect(await plaintext()).toEqual({ foo: 0, app: 200 })
      expect(await mutual()).toEqual(ANSWERED)
    })

    it("and deleting that restores the wider scope too", async () => {
      await mission().remove(KIND, "default", "foo")
      expect(await plaintext()).toEqual({ foo: 200, app: 200 })
    })

    it("the proxy itself rejects, not only the ingress port", async () => {
      await setGlobal("STRICT")
      const { address, xserver } = placeOf(mission(), "httpbin-1")
      expect(await mission().curl(`http://${address}:${xserver}/headers`)).toEqual({ status: 0, body: "" })
      await setGlobal("PERMISSIVE")
      expect(await mission().curl(`http://${address}:${xserver}/headers`)).toMatchObject({ status: 200 })
    })
  })
}

function placeOf(mission: Mission, workload: string) {
  return mission.record.workloads.find(({ name }) => name === workload)?.place ?? expect.fail(workload)
}
