// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Command, InvalidArgumentError, Option } from "commander"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { applyConfigFile } from "./config-file.js"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-config-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

function port(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("must be a whole number")
  return Number(text)
}

function parsed(file: string, argv: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const path = join(folder, "config.yaml")
  writeFileSync(path, file)
  Object.assign(process.env, env)
  try {
    const command = new Command("x")
      .exitOverride()
      .addOption(new Option("--xds-port <n>", "").env("TEST_MERLON_XDS_PORT").argParser(port).default(15_012))
      .addOption(
        new Option("--name <n>", "")
          .argParser((value: string, before: readonly string[]) => [...before, value])
          .default([]),
      )
      .addOption(new Option("--level <level>", "").choices(["info", "debug"]).default("info"))
      .addOption(new Option("--embedded", "").default(false))
      .action(() => undefined)
    command.parse(["node", "x", ...argv])
    applyConfigFile(command, path)
    return command.opts()
  } finally {
    for (const name of Object.keys(env)) delete process.env[name]
  }
}

it("sets options like flags", () => {
  expect(parsed("xdsPort: 1\nname: [a, b]\nlevel: debug\nembedded: true\n")).toEqual({
    xdsPort: 1,
    name: ["a", "b"],
    level: "debug",
    embedded: true,
  })
})

it("is overridden by the environment, which is overridden by the flag", () => {
  const env = { TEST_MERLON_XDS_PORT: "2" }
  expect(parsed("xdsPort: 1", [], env).xdsPort).toBe(2)
  expect(parsed("xdsPort: 1", ["--xds-port", "3"], env).xdsPort).toBe(3)
  expect(parsed("name: [a]", ["--name", "b"]).name).toEqual(["b"])
})

describe("rejects", () => {
  it.each([
    ["a field nobody knows, naming the nearest", "xdsprot: 1", /unknown field `xdsprot`; did you mean `xdsPort`\?/],
    ["what the flag rejects", "xdsPort: a", /xdsPort: must be a whole number; it is `a`/],
    ["what is no choice", "level: loud", /level: .*info, debug/],
    ["a list where one value is meant", "xdsPort: [1, 2]", /must be one value/],
    ["a mapping where a value is meant", "xdsPort: {a: 1}", /must be a text or a number/],
    ["a text where a switch is meant", "embedded: yes please", /must be true or false/],
    ["what is no mapping", "- a", /must be a mapping/],
    ["what is no YAML", "a: [", /config.yaml/],
  ])("%s", (_, file, message) => {
    expect(() => parsed(file)).toThrow(message)
  })

  it("a file that is not UTF-8", () => {
    const file = join(folder, "latin1.yaml")
    writeFileSync(file, Buffer.from("level: caf\u00e9", "latin1"))
    expect(() => applyConfigFile(new Command(), file)).toThrow(/cannot read `.*`: it is not in UTF-8/)
  })

  it("a missing file, by name", () => {
    expect(() => applyConfigFile(new Command(), join(folder, "none"))).toThrow(/cannot read `.*none`/)
  })
})
