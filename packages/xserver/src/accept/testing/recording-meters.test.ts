// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { RecordingMeters } from "./recording-meters.js"

it("fails with the records that the meters have instead", async () => {
  const meters = new RecordingMeters()
  meters.connectionOpened()
  await expect(meters.until(({ open }) => open === 0, 20)).rejects.toThrow(
    /waiting until open === 0; there is \{"open":1,.*"records":0/,
  )
})
