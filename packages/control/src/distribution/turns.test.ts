// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { Turns } from "./turns.js"

it("does so many at a time, in the order of their coming, also after failures", async () => {
  const turns = new Turns(2)
  const begun: number[] = []
  const ends: ((failed: boolean) => void)[] = []
  const all = [0, 1, 2, 3].map(number =>
    turns.run(
      () =>
        new Promise<void>((resolve, reject) => {
          begun.push(number)
          ends[number] = failed => (failed ? reject(new Error("no")) : resolve())
        }),
    ),
  )
  expect(begun).toEqual([0, 1])
  ends[1]?.(true)
  await expect(all[1]).rejects.toThrow("no")
  await expect.poll(() => begun).toEqual([0, 1, 2])
  ends[0]?.(false)
  await expect.poll(() => begun).toEqual([0, 1, 2, 3])
  ends[2]?.(false)
  ends[3]?.(false)
  await Promise.all([all[0], all[2], all[3]])
  expect(await turns.run(async () => "free again")).toBe("free again")
})
