// SPDX-License-Identifier: Apache-2.0
import type { EffectiveMode } from "@merlon/policy/selection"
import { detectHttp, isPreface } from "@merlon/wire/http"
import { describe, expect, test } from "vitest"
import { judgeFirstBytes, judgeSilence, type PortFacts } from "./first-bytes.js"

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

function facts(mode: EffectiveMode, protocol: PortFacts["protocol"]): PortFacts {
  return { mode, protocol, meshAlpn: ["merlon"], serviceNames: new Set(["orders.shop"]) }
}

describe("an undeclared port reads", () => {
  test.each([
    ["GET / HTTP/1.1\r\n", "http1"],
    ["G", "more"],
    ["GET", "more"],
    ["get /", "http1"],
    ["\r\n\r\nGET /", "http1"],
    ["\r\n", "more"],
    ["GET\t/ HTTP/1.1", "http1"],
    ["FROBNICATE / HTTP/1.1\r\n", "http1"],
    ["FROBNICATE / http/1.1 \r\n", "http1"],
    ["FROBNICATE / HTTP/1.1", "more"],
    ["EHLO mail.example\r\n", "tcp"],
    ["AUTH user secret\r\n", "tcp"],
    ["*1\r\n$4\r\nPING\r\n", "tcp"],
    ["PING\r\n", "tcp"],
    ["\x00\x00\x00\x08\x04\xd2\x16/", "tcp"],
    [" GET / HTTP/1.1", "http1"],
    ["\t\x0bGET / HTTP/1.1", "http1"],
    ["GET\x0b/ HTTP/1.1", "http1"],
    ["GET\xa0/", "http1"],
    ["GET\r/ HTTP/1.1", "http1"],
    ["PURGE /", "http1"],
    ["CONNECT\r\nlogin:x\r\n", "tcp"],
    ["CONNECT\r", "more"],
    ["GE\x00T / HTTP/1.1\r\n", "tcp"],
    ["AMQP\x00\x00\x09\x01", "tcp"],
    ["SSH-2.0-OpenSSH_9.6\r\n", "tcp"],
    [`${"A".repeat(40)} / HTTP/1.1\r\n`, "tcp"],
    [`FOO ${"x".repeat(9_000)}`, "tcp"],
    ["\n".repeat(9_000), "tcp"],
    [PREFACE, "http2"],
    [PREFACE.slice(0, 20), "more"],
    ["PRI * HTTP/2.0\r\n\r\nXX", "http1"],
  ])("%j as %s", (text, expected) => {
    expect(detectHttp(Buffer.from(text, "latin1"))).toBe(expected)
  })
})

test("an HTTP port knows only the two versions", () => {
  expect(isPreface(Buffer.from("\x00\x01"))).toBe("http1")
  expect(isPreface(Buffer.from("P"))).toBe("more")
  expect(isPreface(Buffer.from(`${PREFACE}rest`))).toBe("http2")
})

describe("bytes that are no hello", () => {
  test.each<[EffectiveMode, PortFacts["protocol"], string, string]>([
    ["PERMISSIVE", "tcp", "\x16hello", "tcp"],
    ["PERMISSIVE", "auto", "\x16hello", "tcp"],
    ["PERMISSIVE", "http", "\x16hello", "terminate"],
    ["STRICT", "tcp", "\x16hello", "terminate"],
    ["STRICT", "tcp", "hello", "not-tls"],
    ["STRICT", "auto", "GET / HTTP/1.1", "not-tls"],
    ["STRICT", "http", "GET / HTTP/1.1", "not-tls"],
    ["DISABLE", "http", "\x16\x03\x01", "tls-not-accepted"],
    ["DISABLE", "tcp", "\x16\x03\x01", "tcp"],
    ["DISABLE", "auto", "\x16\x03\x01", "tcp"],
    ["DISABLE", "tcp", "", "tcp"],
    ["DISABLE", "auto", "", "more"],
    ["PERMISSIVE", "tcp", "", "more"],
    ["PERMISSIVE", "tcp", "x", "tcp"],
    ["PERMISSIVE", "tcp", "\x16\x03\x01", "more"],
    ["PERMISSIVE", "tcp", "\x16\x03\x01\x00\x04\x01\xff\xff\xff", "protocol"],
  ])("%s %s %j: %s", (mode, protocol, text, expected) => {
    const verdict = judgeFirstBytes(Buffer.from(text, "latin1"), facts(mode, protocol))
    const word =
      verdict.kind === "plaintext" ? verdict.protocol : verdict.kind === "close" ? verdict.failure : verdict.kind
    expect(word).toBe(expected)
  })
})

test("the end of input ends a line for some readers", () => {
  const ended = (text: string) => detectHttp(Buffer.from(text, "latin1"), true)
  expect(["GET /x", "FOO /x HTTP/1.1", "GE", "FOO bar", "P", "\r\n"].map(ended)).toEqual([
    "http1",
    "http1",
    "tcp",
    "tcp",
    "tcp",
    "tcp",
  ])
})

describe("silence", () => {
  test.each<[EffectiveMode, PortFacts["protocol"], string | undefined]>([
    ["PERMISSIVE", "tcp", "tcp"],
    ["PERMISSIVE", "auto", "tcp"],
    ["PERMISSIVE", "http", undefined],
    ["STRICT", "tcp", undefined],
    ["STRICT", "auto", undefined],
    ["DISABLE", "auto", "tcp"],
  ])("%s %s: %s", (mode, protocol, expected) => {
    expect(judgeSilence(facts(mode, protocol))).toBe(expected)
  })
})
