// SPDX-License-Identifier: Apache-2.0
// Serves a key set and its discovery document (OpenID Connect Discovery 1.0 section 4).

import type { RequestListener } from "node:http"

export function published(jwks: string): RequestListener {
  return (request, response) => {
    request.resume()
    const origin = `http://${request.headers.host ?? "localhost"}`
    const documents: Readonly<Record<string, string>> = {
      "/jwks.json": jwks,
      "/.well-known/jwks.json": jwks,
      "/.well-known/openid-configuration": `${JSON.stringify({ issuer: origin, jwks_uri: `${origin}/jwks.json` })}\n`,
    }
    const path = (request.url ?? "/").split("?")[0] ?? "/"
    const found = Object.hasOwn(documents, path) ? documents[path] : undefined
    const text = found ?? `${JSON.stringify({ error: "ask for /jwks.json" })}\n`
    response.writeHead(found === undefined ? 404 : 200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
      "cache-control": "max-age=300",
    })
    response.end(text)
  }
}
