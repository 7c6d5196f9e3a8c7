// SPDX-License-Identifier: Apache-2.0
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { compile, judge, type Program } from "@merlon/policy/authorization"
import { meshConfig, meshNames } from "@merlon/policy/mesh"
import { parseIp } from "@merlon/policy/request"
import { readDocuments } from "@merlon/policy/resources"
import { AggregatorRegistry } from "prom-client"
import { describe, expect, it } from "vitest"
import { AccessLog } from "./access-log.js"
import { Decisions } from "./decisions.js"
import type { RequestRecord } from "./meters.js"
import { Metrics } from "./metrics.js"
import { requestLine } from "./request-line.js"

const workload = { namespace: "foo", name: "httpbin-1", labels: {} }
const address = parseIp("127.0.0.1")

function programOf(spec: string): Program {
  const text = `apiVersion: security.merlon.dev/v1alpha3\nkind: AuthorizationPolicy\nmetadata: { name: p, namespace: foo }\nspec: ${spec}\n`
  return compile(
    readDocuments(text, meshNames()).flatMap(({ document }) => document ?? []),
    workload,
    meshConfig(),
  )
}

function record(
  program: Program,
  headers: Record<string, string[]> = {},
  changes: Partial<RequestRecord> = {},
): RequestRecord {
  if (address === undefined) throw new Error("no address")
  const judgement = judge(
    program,
    { peer: undefined, sourceIp: address, destinationIp: address, destinationPort: 8080, sni: undefined },
    { method: "GET", scheme: "http", host: "h", target: "/a?secret=1", headers: new Map(Object.entries(headers)) },
    0,
  )
  return {
    protocol: "http/1.1",
    judgement,
    decisionId: judgement.verdict === "deny" ? "abc" : undefined,
    requestId: "r",
    method: "GET",
    host: "h",
    path: "/a",
    status: judgement.verdict === "deny" ? 403 : 200,
    bytesReceived: 1,
    bytesSent: 2,
    durationMs: 1.23456,
    peer: undefined,
    source: "127.0.0.1",
    port: 8080,
    upstreamFailure: undefined,
    ...changes,
  }
}

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

const rejecting = programOf(
  '{ rules: [{ to: [{ operation: { paths: ["/b"] } }], when: [{ key: "request.headers[x-tier]", values: ["gold"] }] }] }',
)
const open = programOf("{ rules: [{}] }")

describe("the access log", () => {
  const lines = (format: "json" | "text", ...records: RequestRecord[]): string => {
    let text = ""
    const write = (chunk: string): boolean => {
      text += chunk
      return true
    }
    const log = new AccessLog(requestLine(format), { writableLength: 0, write })
    for (const each of records) log.write(each)
    log.flush()
    return text
  }

  it("reports decision and reason in JSON, without the query", () => {
    const line = JSON.parse(lines("json", record(rejecting)))
    expect(line).toMatchObject({ verdict: "deny", stage: "allow", status: 403, decisionId: "abc", path: "/a" })
    expect(line.reason).toContain(
      "nearest rule foo/p rules[0]: to[0].operation.paths wants one of /b, the request has /a",
    )
    expect(line.details).toBe("rbac_access_denied_matched_policy[none]")
    expect(JSON.stringify(line)).not.toContain("secret")
  })

  it("writes one line per request for humans", () => {
    const text = lines("text", record(open), record(rejecting))
    expect(
      text
        .trimEnd()
        .split("\n")
        .map(line => line.split(" ").slice(1, 5).join(" ")),
    ).toEqual(["allow GET /a 200", "DENY  GET /a".trimEnd()])
  })

  it("drops lines instead of filling memory if they are not read", () => {
    const log = new AccessLog(requestLine("json"), { writableLength: 5 * 1024 * 1024, write: () => false })
    log.write(record(open))
    expect(log.dropped).toBe(1)
  })

  it("reports what Shadow policies would have done", () => {
    const shadow = programOf("{ action: DENY, enforcement: Shadow, rules: [{}] }")
    expect(JSON.parse(lines("json", record(shadow))).shadow).toBe("would be denied by foo/p rules[0]")
  })
})

describe("the last decisions", () => {
  it("explain a denial by its id, with only the headers that rules read", () => {
    const decisions = new Decisions()
    decisions.add(record(rejecting, { "x-tier": ["iron"], authorization: ["Bearer secret"] }), rejecting)
    const found = decisions.find("abc")
    expect(found?.explanation?.policies[0]?.rules[0]?.when.criteria[0]).toMatchObject({
      actual: '["iron"]',
      holds: false,
    })
    expect(JSON.stringify(found)).not.toContain("Bearer")
  })

  it("keep neither the request nor the program alive", async () => {
    const decisions = new Decisions()
    const add = (): readonly WeakRef<object>[] => {
      const program = programOf('{ rules: [{ to: [{ operation: { paths: ["/b"] } }] }] }')
      const rejected = record(program, { "x-long": ["a".repeat(60_000)] })
      decisions.add(rejected, program)
      return [new WeakRef(program), new WeakRef(rejected), new WeakRef(rejected.judgement ?? {})]
    }
    const added = add()
    await new Promise(resolve => setImmediate(resolve))
    collectGarbage()
    expect(added.map(reference => reference.deref())).toEqual([undefined, undefined, undefined])
    expect(decisions.find("abc")?.reason).toContain("nearest rule foo/p")
  })

  it("do not keep the heads alive that their texts were cut from", () => {
    const decisions = new Decisions()
    const { judgement } = record(rejecting)
    if (judgement === undefined || !("attributes" in judgement)) throw new Error("nothing was judged")
    const { attributes } = judgement
    const { http, remoteIp } = attributes
    if (http === undefined) throw new Error("no request was judged")
    const used = (): number => {
      collectGarbage()
      return process.memoryUsage().heapUsed
    }
    const before = used()
    for (let n = 0; n < 1_000; n++) {
      const head = Buffer.alloc(50_000, `${n} `).toString("latin1")
      const cut = head.slice(100, 120)
      const ofHead = { ...http, host: cut, path: cut, query: cut, headers: new Map([["x-tier", [cut]]]) }
      const cutFromIt = { ...attributes, remoteIp: { ...remoteIp, text: cut }, http: ofHead }
      decisions.add(
        record(rejecting, {}, { path: cut, method: cut, judgement: { ...judgement, attributes: cutFromIt } }),
        rejecting,
      )
    }
    expect(used() - before).toBeLessThan(25_000_000)
    expect(decisions.list()).toHaveLength(1_000)
  })

  it("stay unchanged for their reader when they are overwritten", () => {
    const decisions = new Decisions()
    decisions.add(record(rejecting, { "x-tier": ["iron"] }, { peer: "spiffe://a", path: "/first" }), rejecting)
    const [received, found] = [decisions.list()[0], decisions.find("abc")]
    const asTold = structuredClone(received)
    for (let n = 0; n < 1_000; n++) decisions.add(record(open, {}, { method: "PUT" }), undefined)
    expect([received, found]).toEqual([asTold, asTold])
    const fresh = new Decisions()
    fresh.add(record(open, {}, { method: "PUT" }), undefined)
    expect(decisions.list().at(-1)).toEqual({ ...fresh.list()[0], time: expect.any(String) })
    expect(decisions.find("abc")).toBeUndefined()
  })

  it("keep no more of a long path than a log line would, and then have no explanation", () => {
    const decisions = new Decisions()
    const long = `/${"a".repeat(60_000)}`
    const judged = record(rejecting, {}, { path: long }).judgement
    if (judged === undefined || !("attributes" in judged) || judged.attributes.http === undefined) throw new Error("?")
    const attributes = { ...judged.attributes, http: { ...judged.attributes.http, path: long } }
    decisions.add(record(rejecting, {}, { path: long, judgement: { ...judged, attributes } }), rejecting)
    expect(decisions.find("abc")?.path.length).toBeLessThan(3_000)
    expect(decisions.find("abc")?.explanation).toBeUndefined()
  })

  it("are a thousand, newest first", () => {
    const decisions = new Decisions()
    for (let n = 0; n < 1_200; n++) decisions.add(record(open, {}, { method: `M${n}` }), open)
    const listed = decisions.list()
    expect([listed.length, listed[0]?.method, listed.at(-1)?.method]).toEqual([1_000, "M1199", "M200"])
  })
})

describe("metrics", () => {
  it("count by verdict, stage and policy, and forget policies that are gone", async () => {
    const metrics = new Metrics("merlon", { tokenHits: () => 3, tokenMisses: () => 1 })
    metrics.requestDone(record(open), "PERMISSIVE")
    metrics.limitHit("connections")
    metrics.tlsFailed("expired")
    const text = await metrics.registry.metrics()
    expect(text).toContain('merlon_xserver_requests_total{verdict="allow",stage="allow",policy="foo/p",code="2xx"} 1')
    expect(text).toContain('merlon_xserver_plaintext_requests_total{mode="PERMISSIVE"} 1')
    expect(text).toContain('merlon_xserver_limits_hit_total{limit="connections"} 1')
    expect(text).toContain('merlon_xserver_tls_failures_total{reason="expired"} 1')
    expect(text).toContain("merlon_xserver_token_memory_hits_total 3")
    metrics.configurationApplied(2, new Set(), undefined)
    expect(await metrics.registry.metrics()).not.toContain("foo/p")
  })

  it("name the Shadow policy that would decide differently, until it is gone", async () => {
    const metrics = new Metrics("merlon", { tokenHits: () => 0, tokenMisses: () => 0 })
    metrics.requestDone(record(programOf("{ action: DENY, enforcement: Shadow, rules: [{}] }")), "STRICT")
    const line = 'merlon_xserver_shadow_differences_total{verdict="allow",policy="foo/p"} 1'
    expect(await metrics.registry.metrics()).toContain(line)
    metrics.configurationApplied(2, new Set(), undefined)
    expect(await metrics.registry.metrics()).not.toContain("foo/p")
  })

  it("count callers by identity: a hundred by name, the others together", async () => {
    const metrics = new Metrics("merlon", { tokenHits: () => 0, tokenMisses: () => 0 })
    metrics.requestDone(record(open, {}, { peer: undefined }), "PERMISSIVE")
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < 150; n++) {
        metrics.requestDone(record(open, {}, { peer: `cluster.local/ns/app/sa/s${n}` }), "STRICT")
      }
    }
    const text = await metrics.registry.metrics()
    const counted = (source: string) =>
      text
        .split("\n")
        .find(line => line.includes(`by_source_total{source="${source}",verdict="allow"}`))
        ?.split(" ")[1]
    expect(["(plaintext)", "cluster.local/ns/app/sa/s7", "(others)"].map(counted)).toEqual(["1", "2", "100"])
    expect(counted("cluster.local/ns/app/sa/s120")).toBeUndefined()
  })

  it("add to what was read before, and restart for a policy that comes back", async () => {
    const metrics = new Metrics("merlon", { tokenHits: () => 0, tokenMisses: () => 0 })
    const counted = async () => /policy="foo\/p",code="2xx"} (\d+)/.exec(await metrics.registry.metrics())?.[1]
    const done = (times: number) => {
      for (let n = 0; n < times; n++) metrics.requestDone(record(open), "PERMISSIVE")
    }
    done(2)
    expect(await counted()).toBe("2")
    metrics.requestDone(record(rejecting), "PERMISSIVE")
    done(1)
    expect(await counted()).toBe("3")
    metrics.configurationApplied(2, new Set(), undefined)
    done(1)
    expect(await counted()).toBe("1")
  })

  it("time requests by verdict, in cumulative buckets", async () => {
    const metrics = new Metrics("merlon", { tokenHits: () => 0, tokenMisses: () => 0 })
    for (const durationMs of [0.5, 0.6, 3, 20_000]) metrics.requestDone(record(open, {}, { durationMs }), "STRICT")
    metrics.requestDone(record(rejecting, {}, { durationMs: 1 }), "STRICT")
    const text = await AggregatorRegistry.aggregate([await metrics.registry.getMetricsAsJSON()]).metrics()
    const name = "merlon_xserver_request_duration_seconds"
    const value = (suffix: string, labels: string) =>
      text
        .split("\n")
        .find(line => line.startsWith(`${name}_${suffix}{${labels}} `))
        ?.split(" ")[1]
    const buckets = ["0.0005", "0.001", "0.0025", "0.005", "10", "+Inf"]
    expect(buckets.map(le => value("bucket", `verdict="allow",le="${le}"`))).toEqual(["1", "2", "2", "3", "3", "4"])
    expect(value("count", 'verdict="allow"')).toBe("4")
    expect(Number(value("sum", 'verdict="allow"'))).toBeCloseTo(20.0041)
    expect(value("count", 'verdict="deny"')).toBe("1")
  })
})
