// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { awaitDrainRequest } from "@merlon/xserver/drain"
import { expect, it } from "vitest"
import { closed, drainCommand } from "./drain.js"

it("waits until the application has closed its ports", async () => {
  const application = createServer(socket => socket.destroy())
  application.listen(0, "127.0.0.1")
  await once(application, "listening")
  const { port } = application.address() as AddressInfo // a TCP server
  let isOver = false
  const waiting = closed(["127.0.0.1"], [port], 0).then(() => {
    isOver = true
  })
  for (let n = 0; n < 3; n++) await once(application, "connection")
  expect(isOver).toBe(false)
  application.close()
  await waiting
})

it("notifies the xserver of this state folder, and not one that starts later", async () => {
  const folder = mkdtempSync(join(tmpdir(), "merlon-drain-"))
  const state = join(folder, "state")
  const received = new Promise<void>(resolve => awaitDrainRequest(state, resolve))
  await drainCommand().parseAsync(["--state", state], { from: "user" })
  await received
  expect(readdirSync(state)).toHaveLength(1)
  awaitDrainRequest(state, () => expect.fail("nobody has asked"))
  expect(readdirSync(state)).toEqual([])
  rmSync(folder, { recursive: true })
  expect(existsSync(folder)).toBe(false)
})

it("rejects an invalid list of ports", async () => {
  const command = drainCommand()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
  await expect(command.parseAsync(["--until-closed", "8080;9090"], { from: "user" })).rejects.toThrow("8080,9090")
})
