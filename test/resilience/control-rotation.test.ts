// SPDX-License-Identifier: Apache-2.0
// A new root replaces the old one while workloads call each other: every phase with real proxies, one of them offline
// for a while.

import { setTimeout } from "node:timers/promises"
import { signerOf as rootOf } from "@merlon/identity"
import { afterAll, beforeAll, expect, it } from "vitest"
import { SECRETS } from "../../packages/control/src/kubernetes/resource-type.js"
import { names, WAIT } from "../e2e/control/support/cluster-api.js"
import type { DeclaredWorkload } from "../e2e/control/support/declared-workload.js"
import { Mesh, policy } from "../e2e/control/support/mesh.js"

const CA = "merlon-ca"
const PHASE = "merlon.dev/rotation-phase"
const SLOW = { timeout: 90_000, interval: 200 }

let mesh: Mesh
let httpbin: DeclaredWorkload
let caller: DeclaredWorkload
/** Every response since the rotation began: mTLS calls in both directions, continuously. */
const answers: number[] = []
let calling = false
let calls: Promise<void> = Promise.resolve()

async function keepCalling(): Promise<void> {
  while (calling) {
    answers.push(await httpbin.getAs(caller, "/"), await caller.getAs(httpbin, "/"))
    // Handshakes at full speed would only use CPU.
    await setTimeout(50)
  }
}

const annotations = async () => (await mesh.api.get("Secret", CA, names.rootNamespace))?.metadata.annotations ?? {}
const annotate = (values: { readonly [name: string]: string }) =>
  mesh.api.client.patch(SECRETS, CA, { metadata: { annotations: values } }, { namespace: names.rootNamespace })
const signerOf = ({ credentials: { chain, trust } }: DeclaredWorkload) => rootOf(chain, trust)
const roots = (workload: DeclaredWorkload): number => workload.credentials.trust.split("BEGIN CERTIFICATE").length - 1

beforeAll(async () => {
  mesh = await Mesh.start({ args: ["--rotation-settle", "2s"] })
  ;[httpbin, caller] = await Promise.all([mesh.workload("httpbin"), mesh.workload("caller")])
  await mesh.api.put(policy("PeerAuthentication", "mode", { mtls: { mode: "STRICT" } }))
  await mesh.api.becomes("PeerAuthentication", "mode", "foo", "Enforced", "True")
})
afterAll(async () => {
  calling = false
  await calls
  await mesh.close()
})

it("mTLS between two workloads works at every phase of a root's rotation", async () => {
  const before = await annotations()
  const oldRoot = httpbin.credentials.trust
  calling = true
  calls = keepCalling()

  // The rotation does not continue without the proxy that does not answer.
  const mute = await mesh.bareProxy("mute")
  let release = (): void => undefined
  mute.behaviour = () =>
    new Promise(resolve => {
      release = resolve
    })
  await annotate({ "merlon.dev/rotate-root": "1" })
  await expect.poll(async () => (await annotations())[PHASE], SLOW).toBe("distribute")
  await expect.poll(() => [roots(httpbin), roots(caller)], SLOW).toEqual([2, 2])
  const callsBefore = answers.length
  await expect.poll(() => answers.length, SLOW).toBeGreaterThan(callsBefore + 20)
  expect((await annotations())[PHASE]).toBe("distribute")
  mute.close()
  release()
  // Killed halfway: the next process continues the rotation.
  await mesh.control.kill()
  await mesh.control.run()

  await expect.poll(async () => (await annotations())[PHASE], SLOW).toBe("sign")
  const signing = await annotations()
  expect(signing["merlon.dev/signing-root"]).not.toBe(before["merlon.dev/signing-root"])
  // Both renew at once, independently; the first presents its new certificate to one that still has the old one.
  const signer = signing["merlon.dev/signing-root"]
  await expect.poll(() => [signerOf(httpbin), signerOf(caller)], SLOW).toEqual([signer, signer])
  await expect.poll(() => answers.length, SLOW).toBeGreaterThan(callsBefore + 40)

  // A proxy that was offline since before the rotation returns while the old root is still trusted.
  const away = await mesh.declare("away")
  expect(away.trustBundle).toContain("BEGIN CERTIFICATE")
  await away.run()

  await annotate({ "merlon.dev/retire-root": (await annotations())["merlon.dev/old-root"] ?? "" })
  await expect.poll(async () => (await annotations())[PHASE], SLOW).toMatch(/retire|steady/)
  await expect.poll(() => [roots(httpbin), roots(caller), roots(away)], SLOW).toEqual([1, 1, 1])
  await expect.poll(async () => (await annotations())[PHASE] ?? "steady", SLOW).toBe("steady")
  expect(httpbin.credentials.trust).not.toBe(oldRoot)
  const callsAfter = answers.length
  await expect.poll(() => answers.length, SLOW).toBeGreaterThan(callsAfter + 10)

  calling = false
  await calls
  expect(answers.filter(status => status !== 200)).toEqual([])
  expect(await httpbin.getAs(away, "/")).toBe(200)
})

it("a control plane that restarts after it is trusted by proxies from before", async () => {
  await mesh.control.kill()
  await mesh.control.run()
  await expect.poll(() => mesh.control.metric("merlon_control_connected_proxies"), WAIT).toBe(3)
  expect(await httpbin.getAs(caller, "/")).toBe(200)
})
