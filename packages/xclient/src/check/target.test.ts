// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { type Target, type TargetArguments, targetOf } from "./target.js"

type Environment = { readonly [name: string]: string }

const PLATFORM = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" }
const WEB = { WEB_APP_SERVICE_HOST: "10.96.0.5", WEB_APP_SERVICE_PORT: "8000" }

describe("the target", () => {
  it.each<[string, TargetArguments, Environment, Target]>([
    ["is the given host and port", { host: "web", port: 8000 }, {}, { host: "web", port: 8000 }],
    ["has port 80 by default", { host: "web.app" }, {}, { host: "web.app", port: 80 }],
    ["may be given as HOST:PORT", { host: "web.app:81" }, {}, { host: "web.app", port: 81 }],
    ["may be given twice with the same port", { host: "web:81", port: 81 }, {}, { host: "web", port: 81 }],
    ["ignores case and a final dot", { host: "Web." }, {}, { host: "web", port: 80 }],
    ["may be an address", { host: "[::1]:80" }, {}, { host: "::1", port: 80 }],
    ["is the only Service of the environment", {}, { ...PLATFORM, ...WEB }, { host: "web-app", port: 8000 }],
    ["is that Service at another port", { port: 81 }, WEB, { host: "web-app", port: 81 }],
    [
      "is the value of the mesh's variables",
      {},
      { MERLON_SERVICE_HOST: "web", MERLON_SERVICE_PORT: "81", ...WEB },
      { host: "web", port: 81 },
    ],
    ["is the given host before that of variables", { host: "a" }, WEB, { host: "a", port: 80 }],
  ])("%s", (_, words, environment, expected) => {
    expect(targetOf(words, environment, "merlon")).toEqual(expected)
  })

  it.each<[string, TargetArguments, Environment, RegExp]>([
    ["nothing names a host", {}, PLATFORM, /no host to call/],
    ["several are possible", {}, { ...WEB, API_SERVICE_HOST: "1.2.3.4", API_SERVICE_PORT: "1" }, /`api`, `web-app`/],
    ["ports differ", { host: "web:1", port: 2 }, {}, /pass the port once/],
    ["it is not a host", { host: "a b" }, {}, /is not a host/],
    ["its port is invalid", { host: "web:99999" }, {}, /is not a host/],
  ])("is rejected if %s", (_, words, environment, message) => {
    expect(() => targetOf(words, environment, "merlon")).toThrow(message)
  })
})
