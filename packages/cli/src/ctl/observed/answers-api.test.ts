// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { expect, it, vi } from "vitest"
import type { Session } from "../session.js"
import { observedList } from "./answers-api.js"

const list = (names: readonly string[], notes: object) => ({
  ...notes,
  items: names.map(name => ({ metadata: { namespace: "app", name }, spec: {} })),
})

/** Lists with this answer, and collects the notes. */
async function listed(answer: object): Promise<{ readonly names: readonly string[]; readonly received: string }> {
  let received = ""
  const spy = vi.spyOn(process.stderr, "write").mockImplementation(text => {
    received += String(text)
    return true
  })
  try {
    // The code under test uses only these.
    const session = { api: { request: async () => answer }, names: meshNames(), origin: "here" } as unknown as Session
    const { items } = await observedList(session, { resource: "proxies", namespace: undefined })
    return { names: items.map(({ name }) => name), received }
  } finally {
    spy.mockRestore()
  }
}

it("reports which replicas did not respond", async () => {
  expect(await listed(list(["one", "two"], {}))).toEqual({ names: ["one", "two"], received: "" })
  const { names, received } = await listed(list(["one"], { partial: ["merlond-b"] }))
  expect(names).toEqual(["one"])
  expect(received).toBe(
    "note: the replica merlond-b of the control plane has not answered; what is known there alone is missing\n",
  )
})
