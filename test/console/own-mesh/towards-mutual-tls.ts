// SPDX-License-Identifier: Apache-2.0
// From plaintext to mTLS, with the warning, on a separate mesh so that other tests are not affected.

import { request } from "node:http"
import { afterAll, describe, expect, it } from "vitest"
import type { ClusterApi } from "../../e2e/control/support/cluster-api.js"
import type { Merlonctl } from "../../e2e/local/support/merlonctl.js"
import { observedFor } from "../support/observed-for.js"
import { address, asOwner } from "../support/visit.js"

export function towardsMutualTls(mesh: Merlonctl, api: () => ClusterApi): void {
  describe("from plaintext to mutual TLS", () => {
    const addressOf = async (name: string, namespace: string): Promise<string> => {
      const pod = await api().get("Pod", name, namespace)
      const { podIP = "" } = (pod?.status ?? {}) as { readonly podIP?: string } // has the type that its schema requires
      return podIP
    }

    /** Calls httpbin from the consumer's Pod as a program outside the mesh does. */
    async function callInPlaintext(): Promise<void> {
      const [from, to] = [await addressOf("consumer-1", "app"), await addressOf("httpbin-1", "foo")]
      await new Promise<void>((resolve, reject) => {
        request({ host: to, port: 15_080, path: "/get", localAddress: from }, answer => {
          answer.resume().on("end", resolve)
        })
          .on("error", reject)
          .end()
      })
    }

    it("shows a workload as ready only after the whole chosen window was observed", async () => {
      const page = await asOwner("/mtls", mesh)
      const section = page.getByRole("region", { name: "app" })
      await section.getByText("observed only for").first().waitFor()
      expect(await page.getByText("ready for STRICT").count()).toBe(0)

      await observedFor(api(), 25)
      await section.getByText("observed only for 25h of 7d").first().waitFor()
      expect(await page.getByText("ready for STRICT").count()).toBe(0)
      await page.getByLabel("Observation window").selectOption("24 hours")
      await page.getByText("Ready means: observed for 24 hours").waitFor()
      await section.getByText("ready for STRICT").first().waitFor()
      await page.getByLabel("Observation window").selectOption("7 days")
      await section.getByText("observed only for 25h of 7d").first().waitFor()
      expect(await page.getByText("ready for STRICT").count()).toBe(0)
    })

    // Later tests call in plaintext again.
    afterAll(() => api().delete("PeerAuthentication", "my-policy", "foo"))

    it("switches to STRICT with a warning of blocked callers, and the edge becomes mTLS", async () => {
      await callInPlaintext()
      const page = await asOwner("/map/foo/httpbin-1?since=15m", mesh)
      const row = page.getByRole("table").getByRole("row").filter({ hasText: "app/consumer" })
      await row.getByText("in plaintext").waitFor()
      await page.locator(".react-flow__edge.plaintext").first().waitFor({ state: "attached" })

      await page.getByRole("link", { name: "mTLS", exact: true }).click()
      const section = page.getByRole("region", { name: "foo" })
      await section.getByText("would be blocked").waitFor()
      await section.getByRole("link", { name: "Require mTLS in foo" }).click()
      await page
        .getByText(/will block plaintext callers of .*app\/consumer-1/)
        .first()
        .waitFor()
      await page.locator("button:enabled", { hasText: "Apply" }).click()
      await page
        .getByText(/^enforced by (\d+) of \1 prox/)
        .first()
        .waitFor()
      await expect(callInPlaintext()).rejects.toThrow()

      await mesh.run(
        "exec",
        "consumer",
        "-n",
        "app",
        "--",
        "xclient",
        "--host",
        "httpbin.foo:8000",
        "--path",
        "/get",
        "1",
      )
      await page.goto(address("/#/map/foo/httpbin-1?since=15m", mesh))
      await row.getByText("mTLS").waitFor()
      await row.getByText("plaintext until").waitFor()
    })
  })
}
