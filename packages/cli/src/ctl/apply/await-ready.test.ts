// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { expect, it } from "vitest"
import type { Session } from "../session.js"
import { awaitReady } from "./await-ready.js"

const resource = {
  group: "security.merlon.dev",
  version: "v1alpha3",
  plural: "peerauthentications",
  singular: "peerauthentication",
  kind: "PeerAuthentication",
  namespaced: true,
  shortNames: [],
  categories: [],
}
const written = { resource, namespace: "foo", name: "default", generation: 2 }

const condition = (status: string, reason: string, observedGeneration: number) => ({
  status: {
    conditions: [{ type: "Ready", status, reason, message: `${reason} ${observedGeneration}`, observedGeneration }],
  },
})

/** An API that gives these answers in order, and repeats the last one. */
function session(...answers: readonly object[]): Session {
  const left = [...answers]
  const api = {
    request: async ({ path }: { path: string }) => {
      expect(path).toBe("/apis/security.merlon.dev/v1alpha3/namespaces/foo/peerauthentications/default")
      return left.length > 1 ? left.shift() : left[0]
    },
  }
  // The code under test uses only the API.
  return { api, names: meshNames() } as unknown as Session
}

it("waits for the generation that was written, not for an earlier one", async () => {
  const api = session(
    {},
    condition("True", "Ready", 1),
    condition("False", "Waiting", 2),
    condition("True", "Ready", 2),
  )
  await expect(awaitReady(api, written, 10_000)).resolves.toBe("Ready 2")
})

it.each(["NoWorkloads", "IgnoredSelector", "NoProxies", "NoProxy", "Bypassable", "Rejected", "Invalid", "Superseded"])(
  "ends at once where waiting is in vain: %s",
  async reason => {
    await expect(awaitReady(session(condition("False", reason, 2)), written, 10_000)).rejects.toThrow(
      `not ready: ${reason} 2`,
    )
  },
)

it("reports what is missing after the timeout", async () => {
  await expect(awaitReady(session(condition("False", "Waiting", 2)), written, 1)).rejects.toThrow(
    /within 0.001 s: Waiting 2/,
  )
  await expect(awaitReady(session({}), written, 1)).rejects.toThrow(/is it running\?/)
})

it("does not accept a policy that is enforced but not ready", async () => {
  const enforced = { type: "Enforced", status: "True", reason: "AllProxies", message: "all", observedGeneration: 2 }
  const missing = { type: "Ready", status: "False", reason: "NoKeys", message: "no keys of `i`", observedGeneration: 2 }
  const object = { status: { conditions: [enforced, missing] } }
  await expect(awaitReady(session(object), written, 1)).rejects.toThrow("not ready within 0.001 s: no keys of `i`")
})

it("waits until an invariant, which has no `Ready`, holds", async () => {
  const invariant = { ...written, resource: { ...resource, kind: "PolicyInvariant" } }
  const holds = (status: string, reason: string) => ({
    status: { conditions: [{ type: "Holds", status, reason, message: `it ${reason}`, observedGeneration: 2 }] },
  })
  await expect(awaitReady(session({}, holds("True", "Proved")), invariant, 10_000)).resolves.toBe("it Proved")
  await expect(awaitReady(session(holds("False", "Broken")), invariant, 10_000)).rejects.toThrow("it Broken")
})
