// SPDX-License-Identifier: Apache-2.0
// Certificates that live for seconds: renewals do not affect calls between workloads, and a certificate that expired
// while the control plane was down is replaced when it is back.

import { certificateFacts } from "@merlon/identity"
import { afterAll, beforeAll, expect, it } from "vitest"
import type { DeclaredWorkload } from "../e2e/control/support/declared-workload.js"
import { Mesh, policy } from "../e2e/control/support/mesh.js"

const SLOW = { timeout: 180_000, interval: 500 }

let mesh: Mesh
let httpbin: DeclaredWorkload
let caller: DeclaredWorkload

const ends = ({ credentials }: DeclaredWorkload): number => certificateFacts(credentials.chain).notAfter

beforeAll(async () => {
  // Half of the lifetime is left for a renewal, which takes seconds on a busy machine.
  mesh = await Mesh.start({ args: ["--certificate-ttl", "40s"] })
  ;[httpbin, caller] = await Promise.all([mesh.workload("httpbin"), mesh.workload("caller")])
  await mesh.api.put(policy("PeerAuthentication", "mode", { mtls: { mode: "STRICT" } }))
  await mesh.api.becomes("PeerAuthentication", "mode", "foo", "Enforced", "True")
})
afterAll(() => mesh.close())

it("certificates are renewed before they expire, without affecting calls", async () => {
  const first = Math.max(ends(httpbin), ends(caller))
  const answers: number[] = []
  await expect
    .poll(async () => {
      answers.push(await httpbin.getAs(caller, "/"), await caller.getAs(httpbin, "/"))
      return Date.now() > first && Math.min(ends(httpbin), ends(caller)) > first
    }, SLOW)
    .toBe(true)
  expect(answers.filter(status => status !== 200)).toEqual([])
  // The control plane's own certificates are as short, and its streams outlive them.
  expect(await mesh.control.metric("merlon_control_connected_proxies")).toBe(2)
})

it("one that expired during an outage is rejected, and replaced with the token", async () => {
  await mesh.control.kill()
  const last = Math.max(ends(httpbin), ends(caller))
  await expect.poll(() => Date.now() > last, SLOW).toBe(true)
  expect(await httpbin.getAs(caller, "/")).toBe(0)
  await mesh.control.run()
  await expect.poll(() => httpbin.getAs(caller, "/"), SLOW).toBe(200)
  await expect.poll(() => mesh.control.metric("merlon_control_connected_proxies"), SLOW).toBe(2)
})
