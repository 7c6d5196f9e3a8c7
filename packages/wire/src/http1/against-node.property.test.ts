// SPDX-License-Identifier: Apache-2.0
// Most applications behind us use Node's parser. We may reject more than it does, but we never accept what it rejects,
// and if both accept, both see the same messages. There are two exceptions: methods that Node does not know, and tabs
// around a response's length, which our clients never see.
import { METHODS } from "node:http"
import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import type { Fields } from "../http/public.js"
import { mutated, requestText, responseText } from "./testing/messages.js"
import { nodeReadsRequests, nodeReadsResponse } from "./testing/node-parser.js"
import { cutAt, everyByte, readRequests, readResponses } from "./testing/read-messages.js"

const RUNS = 400 * inject("effort")

async function agreeOnRequests(text: string): Promise<boolean> {
  const bytes = Buffer.from(text, "latin1")
  const ours = readRequests([bytes])
  const node = await nodeReadsRequests(bytes)
  for (const [index, { head, body }] of ours.messages.entries()) {
    const theirs = node.messages[index]
    // Whether the connection stays open is decided per hop. Node does not find an HTTP/1.0 client's `keep-alive` after
    // two spaces, and stops parsing.
    if (!METHODS.includes(head.method)) break
    if (node.error === "HPE_CLOSED_CONNECTION" && ours.messages[index - 1]?.head.version === "http/1.0") break
    expect(theirs, `accepted what Node rejects (${node.error})`).toBeDefined()
    expect({ method: head.method, body: body.toString("latin1") }).toEqual({
      method: theirs?.method,
      body: theirs?.body.toString("latin1"),
    })
    expect(
      theirs?.url.endsWith(head.target) || head.target === "*" || head.target.startsWith("/?") || head.target === "/",
    ).toBe(true)
    expect(head.headers.size * 2).toBe(theirs?.rawHeaders.length)
  }
  return ours.error === undefined
}

describe("requests", () => {
  it("are parsed as Node does if they are well formed", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(requestText, { minLength: 1, maxLength: 3 }), async texts => {
        expect(await agreeOnRequests(texts.join(""))).toBe(true)
        expect(readRequests([Buffer.from(texts.join(""), "latin1")]).messages.length).toBe(texts.length)
      }),
      { numRuns: RUNS },
    )
  })

  it("are never accepted or framed differently than by Node, however they are corrupted", async () => {
    await fc.assert(
      fc.asyncProperty(fc.tuple(mutated(requestText), requestText), async ([spoiled, next]) => {
        await agreeOnRequests(spoiled + next)
      }),
      { numRuns: 2 * RUNS },
    )
  })

  it("parse the same however they are split", () => {
    fc.assert(
      fc.property(mutated(requestText), fc.array(fc.nat(400), { maxLength: 6 }), (text, cuts) => {
        const bytes = Buffer.from(text, "latin1")
        const whole = readRequests([bytes])
        const summary = summarise(whole)
        expect(summarise(readRequests(everyByte(bytes)))).toEqual(summary)
        expect(summarise(readRequests(cutAt(bytes, cuts)))).toEqual(summary)
      }),
      { numRuns: RUNS },
    )
  })
})

describe("responses", () => {
  const methods = fc.constantFrom("GET", "HEAD", "POST")

  it("are parsed as Node does, however they are corrupted", async () => {
    await fc.assert(
      fc.asyncProperty(mutated(responseText), methods, async (text, method) => {
        const bytes = Buffer.from(text, "latin1")
        const ours = readResponses([bytes], method)
        const node = await nodeReadsResponse(Buffer.from(withoutTabs(text), "latin1"), method)
        const first = ours.messages[0]
        if (first !== undefined && first.head.status >= 200 && !SPACED_CHUNK.test(text)) {
          expect(node.status, `accepted what Node rejects (${node.error})`).toBe(first.head.status)
          expect(node.body.toString("latin1")).toBe(first.body.toString("latin1"))
          expect(node.complete).toBe(true)
        }
        if (
          ours.pending?.head?.framing.kind === "close" &&
          ours.messages.length === 0 &&
          ours.pending.head.status >= 200
        ) {
          expect(node.body.toString("latin1")).toBe(ours.pending.body.toString("latin1"))
        }
      }),
      { numRuns: RUNS },
    )
  })

  it("parse the same however they are split", () => {
    fc.assert(
      fc.property(mutated(responseText), methods, (text, method) => {
        const bytes = Buffer.from(text, "latin1")
        expect(summarise(readResponses(everyByte(bytes), method))).toEqual(summarise(readResponses([bytes], method)))
      }),
      { numRuns: RUNS },
    )
  })
})

/** A chunk size line with whitespace around its extensions, which RFC 9112 section 7.1.1 allows and Node rejects. */
const SPACED_CHUNK = /\n[0-9a-f]+(?=[ \t;])[^\r\n]*[ \t]/i

/** Removes tabs from the head only: text in the content that looks like a header is content. */
function withoutTabs(response: string): string {
  const end = response.indexOf("\r\n\r\n") + 2
  const head = response.slice(0, end)
  return head.replace(/^(content-length|transfer-encoding):[ \t]*(.*?)[ \t]*\r$/gim, "$1: $2\r") + response.slice(end)
}

const textOf = (fields: Fields): string => fields.lines(() => true)

function summarise({ messages, error, pending }: ReturnType<typeof readRequests> | ReturnType<typeof readResponses>) {
  return {
    error,
    pending: pending && { head: pending.head && textOf(pending.head.headers), body: pending.body.toString("latin1") },
    messages: messages.map(({ head, body, trailers }) => [
      textOf(head.headers),
      body.toString("latin1"),
      trailers?.text,
    ]),
  }
}
