// SPDX-License-Identifier: Apache-2.0
// An issuer for tests: a real HTTP or HTTPS server whose responses can be changed while it runs.

import { execFileSync } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

export type Answer = (request: IncomingMessage, response: ServerResponse) => void

export interface Issuer {
  readonly url: string
  readonly port: number
  /** Requested paths, in order. */
  readonly asked: string[]
  answer: Answer
  close(): Promise<void>
}

export function jwks(...kids: string[]): string {
  return JSON.stringify({
    keys: kids.map(kid => {
      const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
      return { ...publicKey.export({ format: "jwk" }), kid, alg: "ES256", use: "sig" }
    }),
  })
}

export const json =
  (text: string, headers: Record<string, string> = {}): Answer =>
  (_, response) => {
    response.writeHead(200, { "content-type": "application/json", ...headers }).end(text)
  }

export const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_, response) => {
    response.writeHead(code, headers).end("sorry")
  }

export async function startIssuer(
  answer: Answer,
  tls?: { readonly key: string; readonly cert: string },
): Promise<Issuer> {
  const asked: string[] = []
  const listener: RequestListener = (request, response) => {
    asked.push(request.url ?? "")
    issuer.answer(request, response)
  }
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo // a TCP server's address
  const issuer: Issuer = {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    port,
    asked,
    answer,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  return issuer
}

/** A private authority and a certificate that it issued for 127.0.0.1, made with openssl. */
export function privateAuthority(): { readonly ca: string; readonly key: string; readonly cert: string } {
  const folder = mkdtempSync(join(tmpdir(), "issuer-"))
  const at = (name: string): string => join(folder, name)
  const openssl = (...args: string[]): void => {
    execFileSync("openssl", args, { stdio: "pipe" })
  }
  const ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
  try {
    openssl("req", "-x509", ...ec, "-keyout", at("ca.key"), "-out", at("ca.pem"), "-subj", "/CN=private", "-days", "2")
    const extensions = ["-addext", "subjectAltName=IP:127.0.0.1,DNS:issuer.test"]
    openssl("req", ...ec, "-keyout", at("key"), "-out", at("csr"), "-subj", "/CN=issuer", ...extensions)
    const signer = ["-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial", "-days", "2"]
    openssl("x509", "-req", "-in", at("csr"), ...signer, "-copy_extensions", "copyall", "-out", at("cert"))
    const read = (name: string): string => readFileSync(at(name), "utf8")
    return { ca: read("ca.pem"), key: read("key"), cert: read("cert") }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
