// SPDX-License-Identifier: Apache-2.0
// How a client handles responses of a control plane that is broken, hostile, or behind another server.

import {
  FLAG,
  HTTP2_FRAME as FRAME,
  frameHeader,
  goawayText,
  HpackEncoder,
  headersText,
  pingText,
  resetText,
  settingsText,
} from "@merlon/wire"
import { afterEach, describe, expect, it, test } from "vitest"
import { SILENT } from "../../runtime/log.js"
import { SERVER_NAME } from "../../testing/test-authority.js"
import { signCertificate } from "../../wire/methods.js"
import { Channel } from "../channel.js"
import { LastSession } from "../last-session.js"
import { DEFAULT_CLIENT_LIMITS } from "../options.js"
import { clientRig } from "../testing/client-rig.js"
import { block, type RawConnection, type RawControlPlane, rawControlPlane } from "../testing/raw-control-plane.js"
import type { CallEnd } from "./response-head.js"

let plane: RawControlPlane | undefined
afterEach(() => plane?.close())

const GRPC = { ":status": "200", "content-type": "application/grpc" }
const head = headersText(1, block(GRPC), false)
const trailers = (fields: { readonly [name: string]: string }) => headersText(1, block(fields), true)
const data = (content: string, flags = 0) => frameHeader(content.length, FRAME.data, flags, 1) + content
const message = (content: string, flag = "\0") => `${flag}\0\0\0${String.fromCharCode(content.length)}${content}`
/** A SignCertificateResponse whose chain is one letter. */
const ANSWER = message("\x0a\x01x")

/**
 * HPACK tables live as long as the connection, so the response that fills the table must also be the one that uses it.
 */
function bomb(): string {
  const encoder = new HpackEncoder()
  for (let index = 0; index < 200; index++) encoder.field(`x-${index}`, "y".repeat(200))
  return encoder.finish()
}

async function asked(answer: (connection: RawConnection) => void, limits: { messageBytes?: number } = {}) {
  plane = await rawControlPlane(answer)
  const { client } = clientRig({ address: plane.address, bundle: plane.authority.bundle, limits })
  return client.signCertificate(new Uint8Array(5)).then(
    ({ certificateChain }) => certificateChain,
    (error: { readonly code: string; readonly message: string }) => `${error.code}: ${error.message}`,
  )
}

describe("a response", () => {
  test.each<[string, string, string | RegExp]>([
    ["in order", head + data(ANSWER) + trailers({ "grpc-status": "0" }), "x"],
    ["in small pieces", head + Array.from(ANSWER, byte => data(byte)).join("") + trailers({ "grpc-status": "0" }), "x"],
    [
      "after an informational response",
      headersText(1, block({ ":status": "103" }), false) + head + data(ANSWER) + trailers({ "grpc-status": "0" }),
      "x",
    ],
    [
      "with padding",
      `${head}${frameHeader(ANSWER.length + 3, FRAME.data, FLAG.padded, 1)}\x02${ANSWER}\0\0${trailers({ "grpc-status": "0" })}`,
      "x",
    ],
    [
      "that is only a status",
      trailers({ ...GRPC, "grpc-status": "7", "grpc-message": "not%20your%20pod" }),
      "PERMISSION_DENIED: not your pod",
    ],
    [
      "with a badly encoded message",
      trailers({ ...GRPC, "grpc-status": "3", "grpc-message": "100%" }),
      "INVALID_ARGUMENT: 100%",
    ],
    ["with an unused status code", trailers({ ...GRPC, "grpc-status": "5", "grpc-message": "gone" }), "UNKNOWN: gone"],
    ["with an invalid status", trailers({ ...GRPC, "grpc-status": "x" }), /^UNKNOWN/],
    ["without a message", head + trailers({ "grpc-status": "0" }), "INTERNAL: the response is empty"],
    [
      "with two messages",
      head + data(ANSWER + ANSWER) + trailers({ "grpc-status": "0" }),
      "INTERNAL: there is more than one response",
    ],
    [
      "with half a message",
      head + data(ANSWER.slice(0, 6)) + trailers({ "grpc-status": "0" }),
      /^INTERNAL: the response is out of order/,
    ],
    [
      "that is not a valid message",
      head + data(message("\xff\xff")) + trailers({ "grpc-status": "0" }),
      /^INTERNAL: the response cannot be read/,
    ],
    ["that is compressed", head + data(message("abc", "\x01")), /^INTERNAL: a message is compressed/],
    ["without a status", head + data(ANSWER, FLAG.endStream), "UNKNOWN: the response ended without a status"],
    ["with two heads", head + head, /^INTERNAL: the response is out of order/],
    ["without a head", data(ANSWER), /^INTERNAL: the response is out of order/],
    [
      "of a load balancer without a backend",
      headersText(1, block({ ":status": "503" }), true),
      /^UNAVAILABLE: the response is HTTP 503/,
    ],
    ["that asks for a login", headersText(1, block({ ":status": "401" }), true), /^UNAUTHENTICATED/],
    [
      "of a web server",
      headersText(1, block({ ":status": "200", "content-type": "text/html" }), false),
      /^UNKNOWN: the response is `text\/html`/,
    ],
    ["without an HTTP status", headersText(1, block({ "content-type": "application/grpc" }), false), /^INTERNAL/],
    ["that is rejected", resetText(1, 7), /^UNAVAILABLE/],
    ["that is broken off", head + resetText(1, 2), /^INTERNAL: the control plane aborted the stream/],
    ["with too many fields", headersText(1, block(GRPC) + bomb(), false), /^RESOURCE_EXHAUSTED: the response headers/],
  ])("%s", async (_, frames, expected) => {
    const outcome = await asked(({ send }) => send(frames))
    if (typeof expected === "string") expect(outcome).toBe(expected)
    else expect(outcome).toMatch(expected)
  })

  it("that is announced larger than the limit is rejected before it arrives", async () => {
    const announced = "\0\x7f\xff\xff\xff"
    expect(await asked(({ send }) => send(head + data(announced)))).toMatch(/^RESOURCE_EXHAUSTED: a message is larger/)
  })

  it("of the largest size is received, however small the windows", async () => {
    const body = "z".repeat(3_000_000)
    let rest = `\0${text32(body.length + 5)}\x0a${varint(body.length)}${body}`
    const outcome = await asked(connection => {
      const { send, socket, received } = connection
      send(head)
      let window = 4 * 65_535
      let read = 0
      const go = () => {
        // Window updates of stream 1 are all that the client still sends.
        const text = received()
        for (let at = text.indexOf(WINDOW, read); at >= 0; at = text.indexOf(WINDOW, read)) {
          if (text.length < at + WINDOW.length + 4) break
          window += Buffer.from(text.slice(at + WINDOW.length, at + WINDOW.length + 4), "latin1").readUInt32BE()
          read = at + WINDOW.length + 4
        }
        while (window > 0 && rest !== "") {
          const part = rest.slice(0, Math.min(window, 16_384))
          rest = rest.slice(part.length)
          window -= part.length
          send(data(part) + (rest === "" ? trailers({ "grpc-status": "0" }) : ""))
        }
      }
      socket.on("data", () => setImmediate(go))
      go()
    })
    expect(outcome.length).toBe(body.length)
  })
})

describe("a control plane that", () => {
  const HOSTILE = 20_000
  test.each<[string, string]>([
    ["sends endless pings", pingText(false, "12345678").repeat(HOSTILE)],
    ["sends endless settings", settingsText([]).repeat(HOSTILE)],
    ["sends endless empty content", head + data("").repeat(HOSTILE)],
    ["sends endless informational responses", headersText(1, block({ ":status": "103" }), false).repeat(HOSTILE)],
    [
      "sends an endless header section",
      frameHeader(0, FRAME.headers, 0, 1) + frameHeader(0, FRAME.continuation, 0, 1).repeat(HOSTILE),
    ],
    ["opens a stream", headersText(2, block(GRPC), false)],
    ["pushes", `${frameHeader(4, FRAME.push, FLAG.endHeaders, 1)}\0\0\0\x02`],
    ["responds on a stream that was not opened", headersText(9, block(GRPC), false)],
    ["sends more content than its window", head + data("z".repeat(16_000)).repeat(80)],
    ["sends a frame that is too long", frameHeader(20_000, FRAME.data, 0, 1)],
    ["sends an undecodable header block", headersText(1, "\x80", false)],
  ])("%s loses the connection", async (_, frames) => {
    let closed: Promise<unknown> | undefined
    const outcome = await asked(({ send, socket }) => {
      closed = new Promise(resolve => socket.once("close", resolve))
      send(frames)
    })
    expect(outcome).toMatch(/^(INTERNAL|RESOURCE_EXHAUSTED): /)
    await closed
  })

  it("does not read ends the call at the limit of unread bytes", async () => {
    plane = await rawControlPlane(({ socket }) => socket.pause())
    const { authority, address } = plane
    const channel = new Channel({
      address,
      serverName: SERVER_NAME,
      trustBundle: () => authority.bundle,
      proof: () => ({ token: "good:orders-1" }),
      limits: DEFAULT_CLIENT_LIMITS,
      log: SILENT,
      session: new LastSession(),
    })
    await channel.ready
    const ends: CallEnd[] = []
    const call = channel.call(signCertificate.path, { message: () => undefined, ended: end => void ends.push(end) })
    let sent = 0
    for (; sent < 100 && ends.length === 0; sent++) call.send(Buffer.alloc(1_000_000))
    expect(ends).toEqual([{ code: "RESOURCE_EXHAUSTED", message: "too many unread messages" }])
    expect(call.send(Buffer.alloc(1))).toBe(false)
    channel.close()
  })

  it("sends GOAWAY ends the calls that it has not processed", async () => {
    expect(await asked(({ send }) => send(goawayText(0, 0, "")))).toMatch(/^UNAVAILABLE/)
  })

  it("sends GOAWAY still answers the calls that it has begun", async () => {
    const answered = head + data(ANSWER) + trailers({ "grpc-status": "0" })
    expect(await asked(({ send }) => send(goawayText(1, 0, "") + answered))).toBe("x")
  })

  it("closes the connection ends the call", async () => {
    expect(await asked(({ socket }) => socket.end())).toMatch(/^UNAVAILABLE: the control plane closed the connection/)
  })
})

const WINDOW = frameHeader(4, FRAME.windowUpdate, 0, 1)

function text32(value: number): string {
  return String.fromCharCode((value >>> 24) & 255, (value >>> 16) & 255, (value >>> 8) & 255, value & 255)
}

/** Always four bytes, whatever the value. */
function varint(value: number): string {
  return String.fromCharCode(
    (value & 127) | 128,
    ((value >>> 7) & 127) | 128,
    ((value >>> 14) & 127) | 128,
    (value >>> 21) & 127,
  )
}
