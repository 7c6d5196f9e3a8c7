// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it, test } from "vitest"
import { lastChunk, trailerLines } from "./chunk.js"
import { everyByte, readRequests, readResponses } from "./testing/read-messages.js"

const bytes = (text: string): Buffer => Buffer.from(text, "latin1")
const requests = (text: string) => readRequests([bytes(text)])
const responses = (text: string, method = "GET") => readResponses([bytes(text)], method)

describe("a request", () => {
  it("keeps its header lines unchanged and finds them by lower-case name", () => {
    const { headers } =
      requests("GET / HTTP/1.1\r\nHost: a\r\nX-Two:  1 \t\r\nx-two:2\r\nX_: \xe9\r\n\r\n").messages[0]?.head ?? {}
    expect(headers?.get("x-two")).toEqual(["1", "2"])
    expect(headers?.get("x_")).toEqual(["\xe9"])
    expect(headers?.get("X-Two")).toBeUndefined()
    headers?.remove(["x-two"])
    expect(headers?.get("x-two")).toBeUndefined()
    expect(headers?.get("x_")).toEqual(["\xe9"])
    expect(headers?.get("host")).toEqual(["a"])
  })

  test.each([
    ["GET /a?b HTTP/1.1\r\nHost: h:1\r\n", "/a?b", "h:1"],
    ["GET http://x:2/a?b HTTP/1.1\r\nHost: h\r\n", "/a?b", "x:2"],
    ["GET HTTPS://x?b HTTP/1.1\r\nHost: h\r\n", "/?b", "x"],
    ["GET http://x HTTP/1.1\r\nHost: h\r\n", "/", "x"],
    ["OPTIONS * HTTP/1.1\r\nHost: h\r\n", "*", "h"],
    ["OPTIONS http://x HTTP/1.1\r\nHost: h\r\n", "*", "x"],
    ["GET / HTTP/1.0\r\n", "/", undefined],
    ["GET / HTTP/1.0\r\nHost:\r\n", "/", ""],
    ["GET http://x/ HTTP/1.0\r\n", "/", "x"],
    ["GET / HTTP/1.1\r\nHost:\r\n", "/", ""],
    ["GET / HTTP/1.1\r\nHost: [::1]:80\r\n", "/", "[::1]:80"],
  ])("%j has target %s and host %s", (head, target, host) => {
    expect(requests(`${head}\r\n`).messages[0]?.head).toMatchObject({ target, host })
  })

  test.each([
    ["HTTP/1.1", "", true],
    ["HTTP/1.1", "Connection: close\r\n", false],
    ["HTTP/1.1", "Connection: x, CLOSE\r\n", false],
    ["HTTP/1.1", "Connection: closed\r\n", true],
    ["HTTP/1.0", "", false],
    ["HTTP/1.0", "Connection: Keep-Alive\r\n", true],
    ["HTTP/1.0", "Connection: keep-alive, close\r\n", false],
  ])("of %s with %j keeps the connection open: %s", (version, header, keepAlive) => {
    expect(requests(`GET / ${version}\r\nHost: a\r\n${header}\r\n`).messages[0]?.head.keepAlive).toBe(keepAlive)
  })

  test.each([
    ["HTTP/1.1", "Connection: Upgrade\r\nUpgrade: websocket\r\n", "websocket"],
    ["HTTP/1.1", "Upgrade: websocket\r\n", undefined],
    ["HTTP/1.0", "Connection: Upgrade\r\nUpgrade: websocket\r\n", undefined],
  ])("of %s with %j asks to upgrade to %s", (version, headers, upgrade) => {
    expect(requests(`GET / ${version}\r\nHost: a\r\n${headers}\r\n`).messages[0]?.head.upgrade).toBe(upgrade)
  })

  test.each(["FROB", "G3T", "X-Y", "PURGE", "!#$%&'*+-.^_`|~"])("may have any token as its method: %s", method => {
    expect(requests(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n`).messages[0]?.head.method).toBe(method)
  })

  it("may follow one empty line, as first or later request", () => {
    const one = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    const text = bytes(`\r\n${one}\r\n${one}${one}`)
    for (const pieces of [[text], everyByte(text)]) {
      const { messages, error } = readRequests(pieces)
      expect([messages.length, error]).toEqual([3, undefined])
    }
    expect(requests(`${one}\r\n\r\n${one}`)).toMatchObject({ error: "bad-request-line" })
    const large = bytes(`\r\n${one}`)
    expect(readRequests([large], one.length).error).toBeUndefined()
  })

  it("may have extensions and trailers", () => {
    const text =
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n5;a;b=c;d="e f"\r\nhello\r\n00A\r\n0123456789\r\n0;z\r\nX-Sum: 1\r\n\r\n'
    for (const pieces of [[bytes(text)], everyByte(bytes(text))]) {
      const [message] = readRequests(pieces).messages
      expect(message?.body.toString()).toBe("hello0123456789")
      expect(message?.trailers?.get("x-sum")).toEqual(["1"])
      expect(lastChunk(trailerLines(message?.trailers, () => true))).toBe("0\r\nX-Sum: 1\r\n\r\n")
      expect(lastChunk(trailerLines(message?.trailers, name => name !== "x-sum"))).toBe("0\r\n\r\n")
    }
  })

  describe("from an application may have whitespace in chunk extensions", () => {
    const response = (line: string): Buffer =>
      bytes(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${line}\r\nhello\r\n0\r\n\r\n`)

    test.each(["5 ;a=b", "5\t ; a", "5;a =b", "5;a= b", '5;a \t=\t "b c" ;d', "5; a ;b = c ; d"])(
      "accepts %j",
      line => {
        for (const pieces of [[response(line)], everyByte(response(line))]) {
          const { messages, error } = readResponses(pieces, "GET")
          expect([error, messages[0]?.body.toString()]).toEqual([undefined, "hello"])
        }
      },
    )

    test.each([
      "5 ",
      " 5",
      "5 5",
      "5;a ",
      "5;a=b ",
      '5;a="b" ',
      "5 a",
      "5;a b",
      "5;a=b c",
      "5; ",
      "5;a= ",
      `5${" ".repeat(2_000)};a`,
    ])("rejects whitespace elsewhere: %j", line => {
      expect(readResponses([response(line)], "GET").error).toBe("bad-chunk")
    })
  })

  it("is rejected if its head is too large or has too many lines", () => {
    const large = bytes(`GET / HTTP/1.1\r\nHost: a\r\nX: ${"y".repeat(1_000)}\r\n\r\n`)
    expect(readRequests([large], large.length).error).toBeUndefined()
    expect(readRequests([large], large.length - 1).error).toBe("head-too-large")
    expect(readRequests(everyByte(large), large.length - 1).error).toBe("head-too-large")
    expect(requests(`GET / HTTP/1.1\r\nHost: a\r\n${"X: y\r\n".repeat(200)}\r\n`).error).toBe("too-many-headers")
  })
})

describe("a response", () => {
  const body = "5\r\nhello\r\n0\r\n\r\n"
  test.each([
    ["GET", "200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello"],
    ["GET", `200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}`, "hello"],
    ["GET", "200 OK\r\nContent-Length:\t5 \t\r\n\r\nhello", "hello"],
    ["GET", `200 OK\r\nTransfer-Encoding:\tchunked\t\r\n\r\n${body}`, "hello"],
    ["HEAD", "200 OK\r\nContent-Length: 5\r\n\r\n", ""],
    ["HEAD", "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", ""],
    ["GET", "204 No Content\r\n\r\n", ""],
    ["GET", "304 Not Modified\r\nContent-Length: 5\r\n\r\n", ""],
    ["GET", "100 Continue\r\n\r\n", ""],
    ["GET", "200\r\nContent-Length: 0\r\n\r\n", ""],
  ])("to %s of %j has the expected content", (method, text, expected) => {
    const result = responses(`HTTP/1.1 ${text}`, method)
    expect(result.messages.map(message => message.body.toString())).toEqual([expected])
    expect(result.pending).toBeUndefined()
  })

  it("without a length ends when the connection closes", () => {
    expect(responses("HTTP/1.1 200 OK\r\n\r\nhel").pending?.head).toMatchObject({
      framing: { kind: "close" },
      keepAlive: false,
    })
  })

  test.each([
    ["HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n", "bad-line-end"],
    ["HTTP/1.1 2000 OK\r\n\r\n", "bad-status-line"],
    ["HTTP/1.1 099 OK\r\n\r\n", "bad-status-line"],
    ["HTTP/2.0 200 OK\r\n\r\n", "bad-status-line"],
    ["ICY 200 OK\r\n\r\n", "bad-status-line"],
    ["HTTP/1.1 200 O\0K\r\n\r\n", "bad-status-line"],
    ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "two-lengths"],
    ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "length-and-encoding"],
    ["HTTP/1.1 204 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "length-and-encoding"],
    ["HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "bad-encoding"],
    ["HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", "folded-header"],
  ])("%j is rejected: %s", (text, error) => {
    expect(responses(text).error).toBe(error)
  })
})
