// SPDX-License-Identifier: Apache-2.0
// Command lines that users paste into a shell. The author of a policy controls paths, headers and prefixes in them.

import { execFileSync } from "node:child_process"
import { meshNames } from "@merlon/policy/mesh"
import type { ProofWorkload, Witness } from "@merlon/policy/proof"
import { describe, expect, it } from "vitest"
import { callLine } from "./call-line.js"

const place = (...parts: readonly string[]): string => JSON.stringify(parts)
const witness = (more: Partial<Witness> = {}): Witness => ({
  protocol: "http",
  sourceIp: "10.0.0.9",
  destinationIp: "10.0.0.1",
  port: 8080,
  host: "web.foo",
  method: "GET",
  path: "/a",
  ...more,
})
const runs = (name: string, namespace: string, serviceAccount: string): ProofWorkload => ({
  ...{ name, namespace, serviceAccount, labels: {} },
})
const principal = "cluster.local/ns/app/sa/consumer"

describe("the caller of a line", () => {
  it("is a workload with the identity, the same one in any order of the list", () => {
    const some = [runs("b-1", "app", "consumer"), runs("a-1", "app", "consumer"), runs("a-0", "other", "consumer")]
    const line = "merlonctl exec a-1 -n app -- xclient --host web.foo --method GET --path /a 1"
    const remark = `# as ${principal}; to port 8080 of the workload`
    expect(callLine(witness({ principal }), some, meshNames())).toBe(`${line}  ${remark}`)
    expect(callLine(witness({ principal }), some.toReversed(), meshNames())).toBe(`${line}  ${remark}`)
  })

  it.each([
    ["there is none", []],
    ["it is of another namespace", [runs("consumer", "other", "consumer")]],
  ])("is said not to run where %s", (_, workloads) => {
    expect(callLine(witness({ principal }), workloads, meshNames())).toBe(
      `merlonctl exec WORKLOAD -n app -- xclient --host web.foo --method GET --path /a 1  # as ${principal}, under which nothing runs; to port 8080 of the workload`,
    )
  })

  it("is curl in a Pod of the namespace if the mesh is Istio", () => {
    const istio = meshNames({ mesh: "istio", domain: "istio.io" })
    expect(callLine(witness({ principal, method: "POST" }), [runs("consumer", "app", "consumer")], istio)).toBe(
      `kubectl exec -n app POD -- curl -i -X POST http://web.foo/a  # as ${principal}; to port 8080 of the workload`,
    )
  })

  it.each([
    [{ principal }, "kubectl exec -n app POD -- grpcurl -plaintext web.foo:80 shop.Cart/Add"],
    [{ host: "web.foo:8000" }, "grpcurl -plaintext web.foo:8000 shop.Cart/Add"],
    [{ path: "/a b" }, "kubectl exec -n app POD -- curl -i -X POST"],
    [{ method: "GET" }, "curl -i -H"],
  ])("is grpcurl where %j calls a gRPC method", (more, line) => {
    const istio = meshNames({ mesh: "istio", domain: "istio.io" })
    const headers = { "content-type": ["application/grpc"] }
    const asked = witness({ method: "POST", path: "/shop.Cart/Add", headers, ...more })
    expect(callLine({ ...asked, ...("path" in more && { principal }) }, [], istio).startsWith(line)).toBe(true)
  })

  it.each([
    [
      "another client than the caller",
      { remoteIp: "8.8.8.8" },
      "curl -i -H 'x-forwarded-for: 8.8.8.8' http://web.foo/a",
    ],
    ["the caller itself", { remoteIp: "10.0.0.9" }, "curl -i http://web.foo/a"],
  ])("names to Istio's sidecar %s", (_, more, line) => {
    const istio = meshNames({ mesh: "istio", domain: "istio.io" })
    expect(callLine(witness(more), [], istio)).toBe(`${line}  # to port 8080 of the workload`)
  })

  it("is any caller on plaintext", () => {
    expect(callLine(witness(), [], meshNames())).toBe("curl -i http://web.foo/a  # to port 8080 of the workload")
  })
})

describe("a shell expands only the token of a line", () => {
  const evil = "$(echo run)`echo run`$HOME\"\\'; echo run #"
  const token = { claims: {}, expires: true }
  /** The words into which a shell splits the line, without the programs. */
  const words = (line: string): readonly string[] => {
    const script = line.replace(/^(curl -i|.* xclient) /, "printf '%s\\0' ")
    const env = { ...process.env, TOKEN: "t0ken", TOKEN2: "other" }
    return execFileSync("sh", ["-c", script], { encoding: "utf8", env }).split("\0").slice(0, -1)
  }

  it.each([
    ["a header", { token: { ...token, place: place("header", "x-token", evil) } }, `x-token: ${evil}t0ken`],
    ["a cookie", { token: { ...token, place: place("cookie", "session") } }, "cookie: session=t0ken"],
    [
      "a parameter behind a path",
      { path: `/${evil}`, token: { ...token, place: place("param", "a b") } },
      `/${evil}?a%20b=t0ken`,
    ],
    [
      "two tokens",
      {
        token: { ...token, place: place("param", "t") },
        secondToken: { ...token, place: place("header", "x-token", evil) },
      },
      `x-token: ${evil}other`,
    ],
    ["no token", { headers: { "x-a": [evil] } }, `x-a: ${evil}`],
  ])("in %s", (_, more, expected) => {
    expect(words(callLine(witness({ ...more, principal }), [], meshNames()))).toContain(expected)
    expect(words(callLine(witness(more), [], meshNames())).join("\n")).toContain(expected)
  })
})
