// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it, test } from "vitest"
import { readCurl, shellWords } from "./curl-line.js"
import type { DescribedRequest } from "./described-request.js"
import { readEnvoyLine } from "./envoy-line.js"
import { readLogLine } from "./log-line.js"
import { RequestDescriptionError } from "./request-description-error.js"

describe("a curl line", () => {
  test.each<[string, DescribedRequest]>([
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
  ])("%s is rejected", (line, message) => {
    expect(() => readCurl(line)).toThrow(message)
  })

  it("is parsed or rejected, whatever it contains", () => {
    fc.assert(
      fc.property(fc.string(), line => {
        try {
          readCurl(`curl ${line}`)
        } catch (error) {
          expect(error).toBeInstanceOf(RequestDescriptionError)
        }
      }),
    )
  })

  it("is split like a shell would", () => {
    expect(shellWords(`a 'b c' "d \\"e" f\\ g ''`)).toEqual(["a", "b c", 'd "e', "f g", ""])
  })
})

describe("a line of an access log", () => {
  test.each<[object, DescribedRequest]>([
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

  it.each(["", "GET /", "[]", "{}"])("rejects %j", line => {
    expect(() => readLogLine(line)).toThrow("no line of an access log")
  })

  it("rejects a line about a call that the workload made", () => {
    const line = JSON.stringify({ direction: "outbound", protocol: "http/1.1", method: "GET", path: "/" })
    expect(() => readLogLine(line)).toThrow("give the line of the proxy that was called")
  })
})

describe("a line of Envoy's access log, as Istio writes it", () => {
  const TEXT =
    '[2026-11-18T10:00:00.123Z] "GET /get?a=b HTTP/1.1" 403 - rbac_access_denied_matched_policy[none] - "-" 0 19 0 - ' +
    '"-" "curl/8.5.0" "6a1f0f5e-1111-4222-8333-444455556666" "httpbin.foo:8000" "-" inbound|8080|| - ' +
    "10.244.0.7:8080 10.244.0.9:51234 outbound_.8000_._.httpbin.foo.svc.cluster.local default"
  const JSON_LINE = {
    ...{ start_time: "2026-11-18T10:00:00.123Z", method: "GET", path: "/get?a=b", protocol: "HTTP/1.1" },
    ...{
      response_code: 403,
      response_code_details: "rbac_access_denied_matched_policy[none]",
      authority: "httpbin.foo:8000",
    },
    ...{ upstream_cluster: "inbound|8080||", downstream_local_address: "10.244.0.7:8080" },
    ...{ downstream_remote_address: "10.244.0.9:51234", requested_server_name: "outbound_.8000_._.httpbin.foo" },
    downstream_peer_uri_san: "spiffe://cluster.local/ns/foo/sa/sleep",
  }
  const written = (fields: object): string => JSON.stringify({ ...JSON_LINE, ...fields })
  const ASKED = {
    ...{ host: "httpbin.foo:8000", method: "GET", path: "/get?a=b", ip: "10.244.0.9", destinationIp: "10.244.0.7" },
    port: 8080,
  }

  it("is read as text", () => {
    expect(readLogLine(TEXT)).toEqual({ ...ASKED, headers: { "user-agent": "curl/8.5.0" } })
    expect(readEnvoyLine(TEXT)).toMatchObject({
      verdict: "deny",
      rule: "none",
      status: 403,
      time: Date.UTC(2026, 10, 18, 10, 0, 0, 123),
    })
  })

  it("is read as JSON, with the peer if it is logged", () => {
    const sni = "outbound_.8000_._.httpbin.foo"
    expect(readLogLine(written({}))).toEqual({ ...ASKED, from: "cluster.local/ns/foo/sa/sleep", sni })
    expect(readLogLine(written({ downstream_peer_uri_san: "-" }))).toEqual(ASKED)
    expect(readLogLine(written({ response_code: "403", method: null }))).toMatchObject({ protocol: "tcp", port: 8080 })
    expect(readLogLine(written({ downstream_local_address: "[fd00::7]:8080" }))).toMatchObject({
      destinationIp: "fd00::7",
    })
  })

  it("has the headers that Istio writes, and the rule that denied", () => {
    const fields = { x_forwarded_for: "8.8.8.8, 10.1.2.3", user_agent: "probe" }
    const headers = { "x-forwarded-for": "8.8.8.8, 10.1.2.3", "user-agent": "probe" }
    expect(readLogLine(written(fields))).toMatchObject({ headers })
    const matched = "rbac_access_denied_matched_policy[ns[foo]-policy[a]-rule[0]]"
    expect(readEnvoyLine(written({ response_code_details: matched }))?.rule).toBe("ns[foo]-policy[a]-rule[0]")
    expect(readEnvoyLine(written({ response_code_details: "via_upstream" }))?.rule).toBeUndefined()
  })

  test.each([
    [
      "denied by a rule",
      { response_code_details: "rbac_access_denied_matched_policy[ns[foo]-policy[a]-rule[0]]" },
      "deny",
    ],
    [
      "denied for its token",
      { response_code: 401, response_code_details: "jwt_authn_access_denied{Jwt_is_expired}" },
      "deny",
    ],
    ["denied by a provider", { response_code_details: "ext_authz_denied" }, "deny"],
    ["denied by the application", { response_code_details: "via_upstream" }, "allow"],
    ["not answered by it", { response_code: 503, response_code_details: "upstream_reset" }, "allow"],
    ["not told", { response_code_details: undefined }, undefined],
  ])("tells what became of the request: %s", (_, fields, verdict) => {
    expect(readEnvoyLine(written(fields))?.verdict).toBe(verdict)
  })

  test.each([
    ["of the caller's proxy", written({ upstream_cluster: "outbound|8000||httpbin" }), "a call that the workload made"],
    ["cut off", TEXT.slice(0, 200), "not in Istio's default format"],
    ["in another format", TEXT.replace(' "curl/8.5.0"', ""), "not in Istio's default format"],
    ["with a list for a path", written({ path: ["/"] }), "`path` is neither text nor a number"],
    ["with no address", written({ downstream_local_address: "somewhere" }), "is no address and port"],
    ["with no port", written({ downstream_remote_address: "10.0.0.1:99999" }), "is no address and port"],
    ["with no status", written({ response_code: "4o3" }), "`response_code` is no number"],
    ["that never ends", written({ path: `/${"a".repeat(300_000)}` }), "more than 262144 characters"],
    ["cut off in JSON", written({}).slice(0, 99), "is no line of an access log"],
  ])("%s is rejected", (_, line, message) => {
    expect(() => readLogLine(line)).toThrow(message)
  })

  it("is read or rejected, whatever its fields contain", () => {
    const fields = fc.dictionary(fc.constantFrom(...Object.keys(JSON_LINE)), fc.oneof(fc.string(), fc.jsonValue()))
    fc.assert(
      fc.property(fields, fc.string(), (some, rest) => {
        for (const line of [written(some), TEXT + rest, `[${rest}`, TEXT.replace("/get", rest)]) {
          try {
            readLogLine(line)
          } catch (error) {
            expect(error).toBeInstanceOf(RequestDescriptionError)
          }
        }
      }),
    )
  })
})
