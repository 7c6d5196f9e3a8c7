// SPDX-License-Identifier: Apache-2.0
// Published ways to make two parsers disagree on where a request ends. All are rejected, whole and byte by byte.

import { describe, expect, test } from "vitest"
import type { HttpError } from "../http/public.js"
import { everyByte, readRequests } from "./testing/read-messages.js"

const post = (headers: string, body = ""): string => `POST / HTTP/1.1\r\nHost: a\r\n${headers}\r\n${body}`
const chunks = (body: string): string => post("Transfer-Encoding: chunked\r\n", body)
const SMUGGLED = "GET /admin HTTP/1.1\r\nHost: a\r\n\r\n"

type Row = readonly [name: string, text: string, error: HttpError]

const LENGTHS: readonly Row[] = [
  ["CL.TE", post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG"), "length-and-encoding"],
  [
    "TE.CL",
    post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "8\r\nSMUGGLED\r\n0\r\n\r\n"),
    "length-and-encoding",
  ],
  ["CL.CL", post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello!"), "two-lengths"],
  ["the same length twice", post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), "two-lengths"],
  ["a list of lengths", post("Content-Length: 5, 5\r\n", "hello"), "bad-length"],
  ["a list without space", post("Content-Length: 5,5\r\n", "hello"), "bad-length"],
  ["a plus sign", post("Content-Length: +5\r\n", "hello"), "bad-length"],
  ["a minus sign", post("Content-Length: -5\r\n", "hello"), "bad-length"],
  ["a hexadecimal length", post("Content-Length: 0x5\r\n", "hello"), "bad-length"],
  ["digits with an underscore", post("Content-Length: 1_0\r\n", "hello"), "bad-length"],
  ["a fraction", post("Content-Length: 5.0\r\n", "hello"), "bad-length"],
  ["an exponent", post("Content-Length: 1e1\r\n", "hello"), "bad-length"],
  ["an empty length", post("Content-Length:\r\n", "hello"), "bad-length"],
  ["a length with words", post("Content-Length: 5 bytes\r\n", "hello"), "bad-length"],
  ["a quoted length", post('Content-Length: "5"\r\n', "hello"), "bad-length"],
  ["digits that are not ASCII", post("Content-Length: \xb2\r\n", "hello"), "bad-length"],
  ["a length beyond 64 bits", post("Content-Length: 18446744073709551621\r\n", "hello"), "bad-length"],
  ["a tab before the length", post("Content-Length:\t5\r\n", "hello"), "bad-length"],
  ["a tab after the length", post("Content-Length: 5\t\r\n", "hello"), "bad-length"],
  ["a vertical tab before the length", post("Content-Length:\x0b5\r\n", "hello"), "bad-header-value"],
  ["a form feed before the length", post("Content-Length:\x0c5\r\n", "hello"), "bad-header-value"],
  ["CL.0 by a folded header", post("X: y\r\n Content-Length: 30\r\n", SMUGGLED), "folded-header"],
]

const ENCODINGS: readonly Row[] = [
  ["TE.TE with an unknown coding", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: cow\r\n"), "bad-encoding"],
  ["chunked twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), "bad-encoding"],
  ["chunked twice in a list", post("Transfer-Encoding: chunked, chunked\r\n"), "bad-encoding"],
  ["chunked before identity", post("Transfer-Encoding: chunked, identity\r\n"), "bad-encoding"],
  ["identity", post("Transfer-Encoding: identity\r\n"), "bad-encoding"],
  ["xchunked", post("Transfer-Encoding: xchunked\r\n"), "bad-encoding"],
  ["chunkedx", post("Transfer-Encoding: chunkedx\r\n"), "bad-encoding"],
  ["gzip before chunked", post("Transfer-Encoding: gzip, chunked\r\n"), "bad-encoding"],
  ["quoted", post('Transfer-Encoding: "chunked"\r\n'), "bad-encoding"],
  ["a parameter", post("Transfer-Encoding: chunked;foo=bar\r\n"), "bad-encoding"],
  ["a leading comma", post("Transfer-Encoding: ,chunked\r\n"), "bad-encoding"],
  ["a trailing comma", post("Transfer-Encoding: chunked,\r\n"), "bad-encoding"],
  ["empty", post("Transfer-Encoding:\r\n"), "bad-encoding"],
  ["a space before the colon", post("Transfer-Encoding : chunked\r\n"), "bad-header-name"],
  ["a tab before the colon", post("Transfer-Encoding\t: chunked\r\n"), "bad-header-name"],
  ["a space before the name", post("X: y\r\n Transfer-Encoding: chunked\r\n"), "folded-header"],
  [
    "a space before the first name",
    "POST / HTTP/1.1\r\n Transfer-Encoding: chunked\r\nHost: a\r\n\r\n",
    "folded-header",
  ],
  ["a fold before the value", post("Transfer-Encoding:\r\n chunked\r\n"), "folded-header"],
  ["a fold with a tab", post("Transfer-Encoding:\r\n\tchunked\r\n"), "folded-header"],
  ["a tab before it", post("Transfer-Encoding:\tchunked\r\n"), "bad-encoding"],
  ["a tab after it", post("Transfer-Encoding: chunked\t\r\n"), "bad-encoding"],
  ["a vertical tab", post("Transfer-Encoding:\x0bchunked\r\n"), "bad-header-value"],
  ["a form feed", post("Transfer-Encoding:\x0cchunked\r\n"), "bad-header-value"],
  ["a NUL", post("Transfer-Encoding:\0chunked\r\n"), "bad-header-value"],
  ["a NUL in the name", post("Transfer-Encoding\0: chunked\r\n"), "bad-header-name"],
  ["a non-breaking space", post("Transfer-Encoding: \xa0chunked\r\n"), "bad-encoding"],
  ["a bare CR before the value", post("Transfer-Encoding: \rchunked\r\n"), "bad-line-end"],
  ["a bare LF instead of a line end", post("X: y\nTransfer-Encoding: chunked\r\n"), "bad-line-end"],
  ["a bare CR instead of a line end", post("X: y\rTransfer-Encoding: chunked\r\n"), "bad-line-end"],
  ["CR CR LF", post("X: y\r\r\nTransfer-Encoding: chunked\r\n"), "bad-line-end"],
  ["LF CR", post("X: y\n\rTransfer-Encoding: chunked\r\n"), "bad-line-end"],
  ["on HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "bad-encoding"],
]

const CHUNKS: readonly Row[] = [
  ["a bare LF after the size", chunks("5\nhello\r\n0\r\n\r\n"), "bad-chunk"],
  ["a bare CR after the size", chunks("5\rhello\r\n0\r\n\r\n"), "bad-chunk"],
  ["a bare LF after the content", chunks("5\r\nhello\n0\r\n\r\n"), "bad-chunk"],
  ["nothing after the content", chunks("5\r\nhello0\r\n\r\n"), "bad-chunk"],
  ["two bytes other than a line end after the content", chunks("5\r\nhelloXX0\r\n\r\n"), "bad-chunk"],
  ["a bare LF in an extension", chunks("5;a\nb\r\nhello\r\n0\r\n\r\n"), "bad-chunk"],
  ["a bare LF in a quoted extension", chunks('5;a="\n"\r\nhello\r\n0\r\n\r\n'), "bad-chunk"],
  ["a line end in a quoted extension", chunks('5;a="\r\n"\r\nhello\r\n0\r\n\r\n'), "bad-chunk"],
  ["a bare CR in an extension", chunks("5;a\rb\r\nhello\r\n0\r\n\r\n"), "bad-chunk"],
  ["an extension without a name", chunks("5;\r\nhello\r\n0\r\n\r\n"), "bad-chunk"],
  ["an extension without a value", chunks("5;a=\r\nhello\r\n0\r\n\r\n"), "bad-chunk"],
  ["text after a quoted value", chunks('5;a="b"c\r\nhello\r\n0\r\n\r\n'), "bad-chunk"],
  ["a space after the size", chunks("5 \r\nhello\r\n0\r\n\r\n"), "bad-chunk"],
  ["a space before the extension", chunks("5 ;a\r\nhello\r\n0\r\n\r\n"), "bad-chunk"],
  ["a space before the size", chunks(" 5\r\nhello\r\n0\r\n\r\n"), "bad-chunk"],
  ["a plus sign", chunks("+5\r\nhello\r\n0\r\n\r\n"), "bad-chunk"],
  ["a minus sign", chunks("-5\r\nhello\r\n0\r\n\r\n"), "bad-chunk"],
  ["0x", chunks("0x5\r\nhello\r\n0\r\n\r\n"), "bad-chunk"],
  ["an underscore", chunks("0_5\r\nhello\r\n0\r\n\r\n"), "bad-chunk"],
  ["no size", chunks("\r\nhello\r\n0\r\n\r\n"), "bad-chunk"],
  ["a size beyond 64 bits", chunks("10000000000000005\r\nhello\r\n0\r\n\r\n"), "bad-chunk"],
  ["a size with endless leading zeros", chunks(`${"0".repeat(64)}5\r\nhello\r\n0\r\n\r\n`), "bad-chunk"],
  ["endless extensions", chunks(`5;${"a".repeat(2_000)}\r\nhello\r\n0\r\n\r\n`), "bad-chunk"],
  ["endless extensions over many chunks", chunks(`1;${"a".repeat(90)}\r\nx\r\n`.repeat(20)), "bad-chunk"],
  ["a length in the trailers", chunks("0\r\nContent-Length: 5\r\n\r\n"), "bad-trailer"],
  ["an encoding in the trailers", chunks("0\r\nTransfer-Encoding: chunked\r\n\r\n"), "bad-trailer"],
  ["a host in the trailers", chunks("0\r\nHost: b\r\n\r\n"), "bad-trailer"],
  ["a fold in the trailers", chunks("0\r\nX: a\r\n b\r\n\r\n"), "folded-header"],
  ["a bare LF at the end", chunks("0\r\n\n"), "bad-line-end"],
  ["a space before the colon of a trailer", chunks("0\r\nX : a\r\n\r\n"), "bad-header-name"],
]

const LINES: readonly Row[] = [
  ["a leading LF", `\n${SMUGGLED}`, "bad-line-end"],
  ["a leading space", ` ${SMUGGLED}`, "bad-request-line"],
  ["a bare LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", "bad-line-end"],
  ["bare LFs throughout", "GET / HTTP/1.1\nHost: a\n\n", "bad-line-end"],
  ["two spaces before the target", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "bad-request-line"],
  ["two spaces after the target", "GET /  HTTP/1.1\r\nHost: a\r\n\r\n", "bad-request-line"],
  ["a tab after the method", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", "bad-request-line"],
  ["a tab in the target", "GET /\ta HTTP/1.1\r\nHost: a\r\n\r\n", "bad-target"],
  ["a space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "bad-request-line"],
  ["a space after the version", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "bad-request-line"],
  ["a second version", "GET /x HTTP/1.1 HTTP/1.1\r\nHost: a\r\n\r\n", "bad-request-line"],
  ["HTTP/0.9", "GET /\r\n\r\n", "bad-request-line"],
  ["a version in lower case", "GET / http/1.1\r\nHost: a\r\n\r\n", "bad-request-line"],
  ["a version with a plus", "GET / HTTP/+1.1\r\nHost: a\r\n\r\n", "bad-request-line"],
  ["HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", "bad-version"],
  ["HTTP/2.0", "PRI * HTTP/2.0\r\n\r\n", "bad-version"],
  ["a method in lower case", "get / HTTP/1.1\r\nHost: a\r\n\r\n", "unknown-method"],
  ["a method in mixed case", "Post / HTTP/1.1\r\nHost: a\r\n\r\n", "unknown-method"],
  ["a method that is not a token", "G@T / HTTP/1.1\r\nHost: a\r\n\r\n", "bad-request-line"],
  ["two empty lines before a request", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "bad-request-line"],
  ["CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", "connect-rejected"],
  ["a target without slash", "GET x HTTP/1.1\r\nHost: a\r\n\r\n", "bad-target"],
  ["a star without OPTIONS", "GET * HTTP/1.1\r\nHost: a\r\n\r\n", "bad-target"],
  ["a user in the target", "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", "bad-target"],
  ["a fragment after the host", "GET http://a#b/ HTTP/1.1\r\nHost: a\r\n\r\n", "bad-target"],
  ["another scheme", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "bad-target"],
  ["a target without host", "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", "bad-target"],
  ["bytes above ASCII in the target", "GET /\xe9 HTTP/1.1\r\nHost: a\r\n\r\n", "bad-target"],
  ["a NUL in the target", "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", "bad-target"],
]

const HEADERS: readonly Row[] = [
  ["no Host", "GET / HTTP/1.1\r\n\r\n", "no-host"],
  ["no Host with an absolute target", "GET http://a/ HTTP/1.1\r\n\r\n", "no-host"],
  ["two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "two-hosts"],
  ["the same Host twice", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", "two-hosts"],
  ["a list of hosts", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "bad-host"],
  ["a Host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "bad-host"],
  ["a Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "bad-host"],
  ["a Host with a user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", "bad-host"],
  ["a Host with an invalid port", "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", "bad-host"],
  ["a Host before a space", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "bad-header-name"],
  ["a tab in a name", "GET / HTTP/1.1\r\nHost: a\r\nX\tY: b\r\n\r\n", "bad-header-name"],
  ["an empty name", "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", "bad-header-name"],
  ["no colon", "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", "bad-header-name"],
  ["a name above ASCII", "GET / HTTP/1.1\r\nHost: a\r\n\xe9: b\r\n\r\n", "bad-header-name"],
  ["a NUL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", "bad-header-value"],
  ["a DEL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: a\x7fb\r\n\r\n", "bad-header-value"],
  ["an escape in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: \x1b[0m\r\n\r\n", "bad-header-value"],
]

describe.each([
  ["lengths", LENGTHS],
  ["encodings", ENCODINGS],
  ["chunks", CHUNKS],
  ["request lines", LINES],
  ["headers", HEADERS],
])("%s", (_, rows) => {
  test.each(rows)("%s", (_name, text, error) => {
    const bytes = Buffer.from(text, "latin1")
    expect(readRequests([bytes])).toEqual({ messages: [], error, pending: undefined })
    expect(readRequests(everyByte(bytes)).error).toBe(error)
  })
})
