// SPDX-License-Identifier: Apache-2.0
// MeshService: weighted traffic over mTLS, observed by the client inside the workload `consumer`.

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { policy, sample } from "../support/manifests.js"
import type { Mission } from "../support/mission.js"
import { type Environment, run } from "../support/run.js"

const KIND = "meshservice"
const EVEN = ["--expect", "v1=50,v2=50"]

export function meshService(mission: () => Mission): void {
  const split = async (v1: number, v2: number): Promise<void> => {
    const shares = Object.entries({ v1, v2 }).map(([name, weight]) => ({
      host: "web",
      name,
      labels: { version: name },
      weight,
    }))
    await mission().patch(KIND, "web", "app", { spec: { routes: [{ service: shares }] } })
    await mission().enforced(KIND, "web", "app")
  }
  const peers = (mode: string): string =>
    policy(mission().names, "PeerAuthentication", "default", "app", { mtls: { mode } })
  const require = (mode: string): Promise<void> =>
    mission().enforce(peers(mode), "peerauthentication", "default", "app")
  const shows = async (mtlsMode: string): Promise<void> => {
    const { code, out, err } = await mission().xclient("--print-route", ...EVEN)
    expect({ code, err }).toEqual({ code: 0, err: "" })
    const host = "web.app.svc.cluster.local"
    const destination = (subset: string) => ({
      subset,
      weight: 50,
      tlsMode: "DUBBO_MUTUAL",
      endpoints: [{ address: expect.stringMatching(/^127\./), port: 15080 }],
    })
    expect(JSON.parse(out)).toMatchObject({
      host,
      port: 80,
      destinations: [destination("v1"), destination("v2")],
      services: [{ host, ports: [{ port: 80, mtlsMode }] }],
    })
  }

  describe("MeshService with DUBBO_MUTUAL, 50/50", () => {
    beforeAll(() => mission().enforce(sample("web-split", mission().names), KIND, "web", "app"))
    afterAll(() => mission().removeAll(peers("STRICT"), sample("web-split", mission().names)))

    it("`--print-route` shows `tlsMode` DUBBO_MUTUAL, endpoint port 15080, `mtlsMode` PERMISSIVE", () =>
      shows("PERMISSIVE"))

    it("`xclient --expect v1=50,v2=50 20` answers one line per destination, ten each", async () => {
      expect(await mission().xclient(...EVEN, "20")).toEqual({ code: 0, out: "v1 10 50%\nv2 10 50%\n", err: "" })
    })

    it("under STRICT `mtlsMode` is STRICT", async () => {
      await require("STRICT")
      await shows("STRICT")
    })

    it("under STRICT it still succeeds", async () => {
      expect((await mission().web()).status).toBe(0)
      expect(await mission().xclient(...EVEN, "20")).toEqual({ code: 0, out: "v1 10 50%\nv2 10 50%\n", err: "" })
    })

    it("a wrong expectation exits 1, and reports the actual weights", async () => {
      const { code, out, err } = await mission().xclient("--expect", "v1=90,v2=10", "--wait-timeout", "8s", "20")
      expect({ code, out }).toEqual({ code: 1, out: "" })
      expect(err).toBe("xclient: route weights map[v1:50 v2:50] did not match expected map[v1:90 v2:10]\n")
    })

    it("a weight change takes effect in a running client", async () => {
      const client = mission().runningXclient("--listen", "127.0.0.1:0")
      const [, address] = await client.printed(/listening on (\S+)/)
      const proxy = { PATH: process.env.PATH ?? "", http_proxy: `http://${address}` }
      expect(await greetings(proxy)).toEqual({ v1: 5, v2: 5 })
      await split(10, 90)
      expect(await greetings(proxy)).toEqual({ v1: 1, v2: 9 })
      await split(0, 100)
      expect(await greetings(proxy)).toEqual({ v1: 0, v2: 10 })
      await split(50, 50)
      expect(await greetings(proxy)).toEqual({ v1: 5, v2: 5 })
      expect(await client.stop()).toBe(0)
    })
  })
}

/** The versions that answered ten requests of one curl, with their counts. */
async function greetings(env: Environment): Promise<{ readonly v1: number; readonly v2: number }> {
  const { out } = await run("curl", ["-sS", "http://web/?[1-10]"], env)
  const count = (version: string): number => out.split(`hello from web ${version}`).length - 1
  return { v1: count("v1"), v2: count("v2") }
}
