// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it, test } from "vitest"
import type { AskedRequest } from "./asked.js"
import { AskedError } from "./asked-error.js"
import { readCurl, shellWords } from "./curl-line.js"
import { readLogLine } from "./log-line.js"

describe("a curl line", () => {
  test.each<[string, AskedRequest]>([
    ["curl http://web/a", { host: "web", path: "/a", method: "GET", headers: {} }],
    ["curl web:8080", { host: "web:8080", path: "/", method: "GET", headers: {} }],
    ["curl -s 'http://web:80/a?b=c d#e'", { host: "web", path: "/a?b=c d", method: "GET", headers: {} }],
    ["curl -XPUT --url=https://web/a", { host: "web", path: "/a", method: "PUT", headers: {} }],
    [
      `curl -X DELETE -H "X-A: 1" -H 'X-A: 2' -H 'Host: other' \\\n  http://user@web/a`,
      { host: "other", path: "/a", method: "DELETE", headers: { "x-a": ["1", "2"] } },
    ],
    ["curl -d a=b http://web", { host: "web", path: "/", method: "POST", headers: {} }],
    ["curl -I http://web", { host: "web", path: "/", method: "HEAD", headers: {} }],
    [
      "curl -u a:b --oauth2-bearer t -o /dev/null http://web",
      { host: "web", path: "/", method: "GET", headers: { authorization: ["Basic YTpi", "Bearer t"] } },
    ],
    ["curl -H 'constructor: a' http://web", { host: "web", path: "/", method: "GET", headers: { constructor: ["a"] } }],
    ["curl -H 'X-A;' -H 'X-B:' http://web", { host: "web", path: "/", method: "GET", headers: { "x-a": [""] } }],
  ])("%s", (line, asked) => {
    expect(readCurl(line)).toEqual(asked)
  })

  test.each([
    ["curl", "has no URL"],
    ["curl --mystery http://web", "`--mystery` of curl is not read"],
    ["curl http://web -H", "`-H` of the curl line has no value"],
    ["curl 'http://web", "the line has an open '"],
  ])("%s is refused", (line, message) => {
    expect(() => readCurl(line)).toThrow(message)
  })

  it("is read or refused, whatever it is", () => {
    fc.assert(
      fc.property(fc.string(), line => {
        try {
          readCurl(`curl ${line}`)
        } catch (error) {
          expect(error).toBeInstanceOf(AskedError)
        }
      }),
    )
  })

  it("is parted as a shell would", () => {
    expect(shellWords(`a 'b c' "d \\"e" f\\ g ''`)).toEqual(["a", "b c", 'd "e', "f g", ""])
  })
})

describe("a line of an access log", () => {
  test.each<[object, AskedRequest]>([
    [
      {
        protocol: "http/1.1",
        method: "GET",
        host: "web",
        path: "/a",
        peer: "spiffe://cluster.local/ns/a/sa/b",
        port: 80,
      },
      { host: "web", method: "GET", path: "/a", from: "cluster.local/ns/a/sa/b", port: 80 },
    ],
    [
      { protocol: "http/1.0", method: "GET", host: "", path: "/" },
      { host: null, method: "GET", path: "/" },
    ],
    [
      { protocol: "tcp", source: "10.0.0.1", port: 80 },
      { protocol: "tcp", ip: "10.0.0.1", port: 80 },
    ],
  ])("%j", (line, asked) => {
    expect(readLogLine(JSON.stringify(line))).toEqual(asked)
  })

  it.each(["", "GET /", "[]", "{}"])("%j is none", line => {
    expect(() => readLogLine(line)).toThrow("no line of an access log")
  })

  it("rejects a line about a call that the workload made", () => {
    const line = JSON.stringify({ direction: "outbound", protocol: "http/1.1", method: "GET", path: "/" })
    expect(() => readLogLine(line)).toThrow("give the line of the proxy that was called")
  })
})
