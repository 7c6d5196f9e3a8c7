// SPDX-License-Identifier: Apache-2.0
// The spans of both proxies at one collector: a request is one trace, and a denial has one id.

import { request } from "node:http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { TraceCollector } from "../../support/collector.js"
import { WAIT } from "../support/cluster-api.js"
import type { DeclaredWorkload } from "../support/declared-workload.js"
import { deny, type Mesh, policy } from "../support/mesh.js"

const SPACE = "traced"
const CLIENT = 3
const SERVER = 2
const HTTP_PROXY = 15_001

export function traces(started: () => Mesh): void {
  describe("traces of both ends", () => {
    let collector: TraceCollector
    let shop: DeclaredWorkload

    beforeAll(async () => {
      const mesh = started()
      collector = await TraceCollector.start()
      const env = { MERLON_XSERVER_TRACES: collector.url, MERLON_XSERVER_TRACE_RATIO: "1" }
      const [web, caller] = await Promise.all([
        mesh.workload("web", { namespace: SPACE }, env),
        mesh.declare("shop", { namespace: SPACE }),
      ])
      shop = caller
      await shop.run({ ...env, MERLON_PROXY_HTTP_PROXY: `${shop.address}:${HTTP_PROXY}` }, "proxy")
      await mesh.api.put({
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "web", namespace: SPACE },
        spec: { selector: web.declaration.labels, ports: [{ name: "http", port: 80, targetPort: "http" }] },
      })
      await mesh.api.put(policy("PeerAuthentication", "mode", { mtls: { mode: "STRICT" } }, SPACE))
      await mesh.api.put(deny("closed", "/closed", "web", SPACE))
      await mesh.api.becomes("PeerAuthentication", "mode", SPACE, "Enforced", "True")
      await mesh.api.becomes("AuthorizationPolicy", "closed", SPACE, "Enforced", "True")
    })
    afterAll(() => collector.close())

    /** Like a program that sets `http_proxy`. */
    function call(path: string): Promise<{ readonly status: number | undefined; readonly decision: unknown }> {
      return new Promise((resolve, reject) => {
        const options = { host: shop.address, port: HTTP_PROXY, path: `http://web.${SPACE}${path}`, agent: false }
        const asked = request({ ...options, headers: { host: `web.${SPACE}` } }, response => {
          const { statusCode: status, headers } = response.resume()
          response.on("end", () => resolve({ status, decision: headers["x-merlon-decision"] }))
        })
        asked.on("error", reject)
        asked.end()
      })
    }

    it("are one, with the caller's span as the parent of the server's, and have the same decision id", async () => {
      // Until the proxy has received the Service, its host is not in the mesh.
      await expect.poll(async () => (await call("/open")).status, WAIT).toBe(200)
      const { status, decision } = await call("/closed")
      expect({ status, decision }).toEqual({ status: 403, decision: expect.stringMatching(/^[0-9a-f]{20}$/) })
      const named = (kind: number) =>
        collector.spans.filter(
          ({ kind: own, attributes }) => own === kind && attributes["merlon.decision_id"] === decision,
        )
      await expect.poll(() => [named(CLIENT).length, named(SERVER).length], WAIT).toEqual([1, 1])
      const [[sent], [received]] = [named(CLIENT), named(SERVER)]
      expect(sent?.parentSpanId).toBeUndefined()
      expect(received).toMatchObject({ traceId: sent?.traceId, parentSpanId: sent?.spanId })
      expect(sent?.attributes).toMatchObject({ "merlon.transport": "mtls", "http.response.status_code": "403" })
      expect(received?.attributes).toMatchObject({ "merlon.verdict": "deny", "merlon.policy": `${SPACE}/closed` })
      expect(received?.attributes["merlon.request_id"]).toBe(sent?.attributes["merlon.request_id"])
    })
  })
}
