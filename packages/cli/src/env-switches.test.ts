// SPDX-License-Identifier: Apache-2.0
import { Command, Option } from "commander"
import { afterEach, expect, it } from "vitest"
import { readEnvSwitches } from "./env-switches.js"

const NAME = "TEST_MERLON_SWITCH"
afterEach(() => {
  delete process.env[NAME]
})

function switchedBy(text: string, argv: readonly string[] = []): unknown {
  process.env[NAME] = text
  const command = new Command("x").addOption(new Option("--it", "").env(NAME)).action(() => undefined)
  command.parse(["node", "x", ...argv])
  readEnvSwitches(command, process.env)
  return command.opts().it
}

it.each(["true", "1", "yes", "on", "TRUE"])("%s means on", text => {
  expect(switchedBy(text)).toBe(true)
})

it.each(["false", "0", "no", "off", "", "False"])("%j means off", text => {
  expect(switchedBy(text)).toBe(false)
})

it("are overridden by a flag", () => {
  expect(switchedBy("false", ["--it"])).toBe(true)
})

it("rejects any other value, with the variable's name", () => {
  expect(() => switchedBy("maybe")).toThrow(`${NAME} must be true or false; it is \`maybe\``)
})
