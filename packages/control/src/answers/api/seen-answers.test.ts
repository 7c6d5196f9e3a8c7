// SPDX-License-Identifier: Apache-2.0
// What a replica says of proxies, which it knows all of only where it leads.

import { expect, it } from "vitest"
import { readQuestion } from "./question.js"
import { SeenAnswers, type SeenSources } from "./seen-answers.js"

const answers = (isLeader: boolean, connected = 0) =>
  new SeenAnswers({
    isLeader: () => isLeader,
    observers: { connected, find: async () => undefined },
    proxies: { ledger: { proxies: new Map() }, views: new Map(), propagation: {} },
    directory: { workloads: new Map(), onChange: () => () => undefined },
  } as unknown as SeenSources) // of all sources a list of no proxies needs these

const question = (path: string) => readQuestion("GET", path, new URLSearchParams()) ?? expect.unreachable()

it("says that a list of proxies is partial where another replica leads", async () => {
  expect((await answers(true).list(question("/proxies"))).notes).toEqual({})
  expect((await answers(false).list(question("/proxies"))).notes).toEqual({ partial: true })
  expect([answers(true).isPartial, answers(false).isPartial]).toEqual([false, true])
})

it("sends whoever looks for a decision to other replicas, where there may be some", async () => {
  await expect(answers(true).get(question("/decisions/abc"))).rejects.toThrow(/among its last thousand$/)
  await expect(answers(false).get(question("/decisions/abc"))).rejects.toThrow(/ask again$/)
})
