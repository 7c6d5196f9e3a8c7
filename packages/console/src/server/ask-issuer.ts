// SPDX-License-Identifier: Apache-2.0
// Sends one request to an issuer and returns the JSON response: over https unless it is on this machine, with the
// configured authority if there is one, with limits on time and size, and without following redirects.

import { request as askInTheClear, type IncomingMessage } from "node:http"
import { request as ask } from "node:https"
import { rootCertificates } from "node:tls"
import { TLS_FLOOR } from "@merlon/wire/tls"

export interface Asked {
  readonly url: unknown
  /** The form of a POST request. */
  readonly form?: URLSearchParams
  /** PEM of a CA in addition to the public ones. */
  readonly ca?: string | undefined
}

const TIMEOUT_MS = 15_000
const MAX_ANSWER = 1 << 20
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

export async function askIssuer({ url: address, form, ca }: Asked): Promise<Readonly<Record<string, unknown>>> {
  const url = secure(address)
  const answer = await sent(url, form, ca).catch(() => {
    throw new Error("the issuer does not answer; try again when it does")
  })
  const value = jsonIn(await textOf(answer))
  // RFC 6749, 5.2: `error` is one of a few words. A redirect is not followed: it could send code and secret to another
  // host.
  const why = typeof value.error === "string" ? ` (${value.error.slice(0, 100)})` : ""
  if (answer.statusCode !== 200) throw new Error(`the issuer answered ${answer.statusCode}${why}`)
  return value
}

/** Fail closed: plain http only on this machine. */
export function secure(address: unknown): URL {
  const url = typeof address === "string" && URL.canParse(address) ? new URL(address) : undefined
  const isGood = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.test(url.hostname))
  if (url === undefined || !isGood) throw new Error("the issuer's addresses must be https")
  return url
}

export function jsonIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {} // its fields are looked at
  } catch {
    return {}
  }
}

function sent(url: URL, form: URLSearchParams | undefined, ca: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const body = form?.toString()
    const headers = {
      accept: "application/json",
      ...(body !== undefined && {
        ...{ "content-type": "application/x-www-form-urlencoded", "content-length": Buffer.byteLength(body) },
      }),
    }
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const options = { method: body === undefined ? "GET" : "POST", headers, signal, agent: false } as const
    const request =
      url.protocol === "https:"
        ? ask(url, { ...TLS_FLOOR, ...options, ...(ca !== undefined && { ca: [...rootCertificates, ca] }) }, resolve)
        : askInTheClear(url, options, resolve)
    // `close` is the only event after a response that Node does not report, such as a protocol upgrade.
    request.on("close", () => reject(new Error("no answer")))
    request.on("error", reject).end(body)
  })
}

/** Reads at most the maximum size of a response. */
async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_ANSWER) throw new Error("the issuer's answer is too long")
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}
