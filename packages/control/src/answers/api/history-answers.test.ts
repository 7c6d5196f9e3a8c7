// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { mesh } from "../../status/testing/documents.js"
import { HistoryAnswers } from "./history-answers.js"

function answers(since: number | undefined, isOn = true): HistoryAnswers {
  return new HistoryAnswers({
    client: { list: () => expect.unreachable("nothing is read") },
    names: mesh.names,
    namespaces: () => ["foo"],
    now: () => Date.parse("2026-05-02T00:00:00Z"),
    store: {
      isOn,
      maxEntries: 200,
      since: async () => since,
      read: () => expect.unreachable("nothing is read"),
      evidence: () => expect.unreachable("nothing is read"),
    },
  })
}

it("rejects a moment before the first recorded one, and names that one", async () => {
  const { gaps } = await answers(Date.parse("2026-05-01T12:00:00Z")).between("2026-05-01T00:00:00Z", undefined, "foo")
  expect(gaps).toEqual(["changes are recorded from 2026-05-01T12:00:00.000Z on; choose a later moment"])
})

it("rejects a comparison if no history is kept", async () => {
  await expect(answers(undefined, false).between("2026-05-01T00:00:00Z", undefined, "foo")).rejects.toThrow(
    "the history of policies is off",
  )
})
