// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest"
import { type UpFlags, upCommand } from "../ctl/commands/up.js"
import { upArguments } from "./up-arguments.js"

test.each([
  [[]],
  [["--shop"]],
  [["--no-samples", "--mesh", "dubbo", "--domain", "dubbo.apache.org"]],
  [
    [
      "--api-port",
      "1",
      "--mesh-port",
      "2",
      "--webhook-port",
      "3",
      "--health-port",
      "4",
      "--console-port",
      "6",
      "--block",
      "5",
    ],
  ],
  [["--expose", "httpbin.foo=8000", "--expose", "web.app=8080"]],
  [["--expose", "httpbin.foo=8000", "--way-in", "web.app=8080"]],
])("a background supervisor gets the requested flags: %j", given => {
  const flagsOf = (args: readonly string[]): UpFlags =>
    upCommand()
      .action(() => undefined)
      .parse([...args], { from: "user" })
      .opts<UpFlags>()
  const flags = flagsOf(given)
  expect(flagsOf(upArguments(flags, "/a b"))).toEqual({ ...flags, data: "/a b" })
})
