// SPDX-License-Identifier: Apache-2.0
// How the console calls the Kubernetes API: one request, with the permissions of the signed-in user. The program that
// serves the console provides the connection.

import type { Readable } from "node:stream"

export interface ApiRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly accept: string
  readonly contentType?: string
  readonly body?: Buffer
}

export interface ApiAnswer {
  readonly status: number
  readonly contentType: string
  /** The values of the `Warning` headers, unchanged. */
  readonly warnings: readonly string[]
  /** May be endless. The receiver has to read or destroy it. */
  readonly body: Readable
}

/** Throws if there is no response. */
export interface ApiExchange {
  send(request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer>
  close(): Promise<void>
}

/** Reads a small response completely, as JSON. */
export async function readJson({ body }: ApiAnswer, limit: number): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > limit) throw new Error(`the API's answer has more than ${limit} bytes`)
    chunks.push(chunk)
  }
  return JSON.parse(Buffer.concat(chunks).toString("utf8"))
}
