// SPDX-License-Identifier: Apache-2.0
// Messages in every framing, and ways to corrupt them, to compare two parsers.

import fc from "fast-check"

const token = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,12}$/)
const value = fc.stringMatching(/^[!-~]{1,6}([ \t]{1,2}[!-~\x80-\xff]{1,8}){0,2}$/)
const method = fc.constantFrom("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "PROPFIND")
const target = fc.oneof(
  fc.stringMatching(/^\/[!"$-~]{0,16}(\?[!"$-~]{0,8})?$/),
  fc.stringMatching(/^http:\/\/[a-z0-9.-]{1,8}(:[0-9]{1,4})?(\/[a-z]{0,6})?$/),
)
const content = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map(bytes => Buffer.from(bytes).toString("latin1")),
  // Bodies that look like messages: the material of request smuggling.
  fc.constantFrom("GET /x HTTP/1.1\r\nHost: y\r\n\r\n", "0\r\n\r\n", "\r\n", "5\r\nhello\r\n0\r\n\r\n", ""),
)
const plainHeader = fc
  .tuple(token, fc.constantFrom("", " ", "\t", "  "), value, fc.constantFrom("", " ", "\t"))
  .filter(([name]) => !/^(content-length|transfer-encoding|host|connection|upgrade|expect|te|trailer)$/i.test(name))
  .map(([name, before, text, after]) => `${name}:${before}${text}${after}\r\n`)

const extension = fc.oneof(
  { weight: 4, arbitrary: fc.constant("") },
  token.map(name => `;${name}`),
  fc.tuple(token, token).map(([name, text]) => `;${name}=${text}`),
  token.map(name => `;${name}="a b;c"`),
)

const chunked = fc
  .tuple(
    fc.array(fc.tuple(content, extension, fc.boolean()), { maxLength: 3 }),
    fc.array(plainHeader, { maxLength: 2 }),
  )
  .map(([chunks, trailers]) => {
    const parts = chunks
      .filter(([text]) => text !== "")
      .map(([text, ext, zeros]) => `${zeros ? "00" : ""}${text.length.toString(16)}${ext}\r\n${text}\r\n`)
    return `${parts.join("")}0\r\n${trailers.join("")}\r\n`
  })

const framed = fc.oneof(
  fc.constant({ header: "", body: "" }),
  content.map(body => ({ header: `Content-Length: ${body.length}\r\n`, body })),
  chunked.map(body => ({ header: "Transfer-Encoding: chunked\r\n", body })),
)

const headers = fc.array(plainHeader, { maxLength: 4 })

export const requestText = fc
  .tuple(method, target, headers, framed, fc.constantFrom("Host: a\r\n", "host:b:8080\r\n", "HOST: [::1]\r\n"))
  .map(([verb, path, lines, { header, body }, host]) => {
    return `${verb} ${path} HTTP/1.1\r\n${host}${lines.join("")}${header}\r\n${body}`
  })

export const responseText = fc
  .tuple(fc.constantFrom(200, 201, 204, 301, 304, 404, 500), value, headers, framed)
  .map(([status, reason, lines, { header, body }]) => {
    return `HTTP/1.1 ${status} ${reason}\r\n${lines.join("")}${header}\r\n${body}`
  })

/** The parts of published smuggling attacks. */
const SPOILERS = [
  "\r", "\n", "\r\n", "\n\n", "\r\n\r\n", " ", "\t", "\0", "\x0b", "\x0c", "\x7f", "\x85", "\xa0", ":", ";", ",", "+", "-", "0x", "0", "5", "f",
  "Content-Length: 5\r\n", "Content-Length: 0\r\n", "Content-Length:\r\n", "Transfer-Encoding: chunked\r\n",
  "Transfer-Encoding: identity\r\n", "Transfer-Encoding : chunked\r\n", "Transfer-Encoding: gzip, chunked\r\n",
  "Transfer-Encoding: chunked, chunked\r\n", "Transfer-Encoding:\x0bchunked\r\n", "Host: c\r\n", " folded\r\n",
  "HTTP/1.0", "HTTP/1.1", "HTTP/2.0", "http/1.1", "0\r\n\r\n", "1;a=\"\n\"\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
  "Connection: close\r\n", "Expect: 100-continue\r\n",
] as const // biome-ignore format: a list to be read in lines

const mutation = fc.oneof(
  fc.record({ kind: fc.constant("insert" as const), at: fc.nat(), text: fc.constantFrom(...SPOILERS) }),
  fc.record({ kind: fc.constant("delete" as const), at: fc.nat(), count: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant("replace" as const), at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) }),
  fc.record({ kind: fc.constant("insertLine" as const), at: fc.nat(), text: fc.constantFrom(...SPOILERS) }),
  fc.record({ kind: fc.constant("older" as const), at: fc.nat(), keepAlive: fc.boolean() }),
)

type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never

function mutate(text: string, change: Mutation): string {
  const at = change.at % (text.length + 1)
  switch (change.kind) {
    case "insert":
      return text.slice(0, at) + change.text + text.slice(at)
    case "delete":
      return text.slice(0, at) + text.slice(at + change.count)
    case "replace":
      return text.slice(0, at) + String.fromCharCode(change.byte) + text.slice(at + 1)
    case "older":
      return text.replace(/HTTP\/1\.1(.*)\r\n/, `HTTP/1.0$1\r\n${change.keepAlive ? "Connection: keep-alive\r\n" : ""}`)
    case "insertLine": {
      const line = text.indexOf("\r\n", at)
      return line < 0 ? text : text.slice(0, line + 2) + change.text + text.slice(line + 2)
    }
  }
}

export const mutated = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(text, fc.array(mutation, { minLength: 0, maxLength: 3 }))
    .map(([whole, changes]) => changes.reduce(mutate, whole))
