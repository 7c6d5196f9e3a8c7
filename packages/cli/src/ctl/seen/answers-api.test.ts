// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy"
import { expect, it } from "vitest"
import type { Session } from "../session.js"
import { seenList } from "./answers-api.js"

const list = (names: readonly string[], notes: object) => ({
  ...notes,
  items: names.map(name => ({ metadata: { namespace: "app", name }, spec: {} })),
})

/** Answers with these, one after the other, the last again and again. */
function sessionOf(...answers: readonly object[]): { readonly session: Session; readonly asked: () => number } {
  let asked = 0
  const request = async () => answers[Math.min(asked++, answers.length - 1)]
  // What is asked for goes through these alone.
  const session = { api: { request }, names: meshNames(), origin: "here" } as unknown as Session
  return { session, asked: () => asked }
}

it("asks until a replica answers that knows the proxies of all", async () => {
  const part = list(["one"], { partial: true })
  const { session, asked } = sessionOf(part, part, list(["one", "two"], {}))
  const { items } = await seenList(session, { resource: "proxies", namespace: undefined })
  expect(items.map(({ name }) => name)).toEqual(["one", "two"])
  expect(asked()).toBe(3)
})

it("takes what there is where none does", async () => {
  const { session, asked } = sessionOf(list(["one"], { partial: true }))
  expect((await seenList(session, { resource: "proxies", namespace: undefined })).notes).toMatchObject({
    partial: true,
  })
  expect(asked()).toBe(20)
})
