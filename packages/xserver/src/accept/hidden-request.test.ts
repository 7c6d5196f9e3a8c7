// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { HiddenRequest } from "./hidden-request.js"

function found(text: string, cuts: readonly number[] = []): boolean {
  const hidden = new HiddenRequest()
  const bytes = Buffer.from(text, "latin1")
  const ends = [...new Set([...cuts.map(cut => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b)
  let from = 0
  for (const end of ends) {
    if (hidden.foundIn(bytes.subarray(from, end))) return true
    from = end
  }
  return hidden.unfinished
}

const REQUESTS = [
  "EHLO x\r\nGET / HTTP/1.1\r\n",
  "\x00\x01 /x HTTP/1.1\n",
  "AMQP\x00\x00\x09\x01 HTTP/1.0\r\n",
  `${"A".repeat(5_000)} /x HTTP/1.1\r\n`,
  "x\nGET /x\n",
  "x\nGET\x0b/x\n",
  "x\n\x1f\x85GET\xa0/x",
  "FOO\r/x\rHTTP/1.1\n",
  "FOO /x HTTP/1.1\rHost: x\r\r",
  "x\rGET /x\n",
  "FOO /x http/1.1 \t\n",
  "FOO /x HTTP/1.1",
  "FOO HTTP/ /x HTTP/9.9\n",
  "PURGE\r/x",
  " /x HTTP/1.1 HTTP/1.1\r\n",
  "FOO HTTP/1.1  HTTP/1.1 HTTP/1.0\n",
]

const OTHERS = [
  "GE",
  "GET\r\n",
  "GET\n/x\n",
  "EHLO x\r\nMAIL FROM:<a@b>\r\n",
  "*1\r\n$4\r\nPING\r\n",
  "set a 0 0 1\r\n1\r\nget a\r\n",
  '<34>1 host app - "GET /x HTTP/1.1" 200 5\n',
  "HTTP/1.1 200 OK\r\n",
  "CONNECT\nlogin:x\n\n\x00",
  "CONNECT\r\nlogin:x\r\n",
  "GETS /x\n",
  "a HTTP/1.1x\n",
  "aHTTP/1.1\n",
]

describe("a line that some server would read as a request", () => {
  test.each(REQUESTS)("%j", text => {
    expect(found(text)).toBe(true)
  })
})

describe("a line that no parser reads as a request", () => {
  test.each(OTHERS)("%j", text => {
    expect(found(text)).toBe(false)
  })
})

test("the result does not depend on how the bytes are split", () => {
  fc.assert(
    fc.property(fc.constantFrom(...REQUESTS, ...OTHERS), fc.array(fc.nat(6_000)), (text, cuts) => {
      expect(found(text, cuts)).toBe(REQUESTS.includes(text))
    }),
  )
})
