// SPDX-License-Identifier: Apache-2.0
// An OpenID Connect issuer over a real socket: discovery, the sign-in page (which accepts every user at once), codes
// that are bound to their client, their redirect and their challenge and work once, and ID tokens with real signatures.

import { createHash, generateKeyPairSync, randomUUID, sign, verify } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo } from "node:net"

interface Granted {
  readonly query: URLSearchParams
}

/** Shared by all issuers, because generating keys is slow. */
const KEYS = generateKeyPairSync("rsa", { modulusLength: 2_048 })

export class Issuer {
  readonly #server: Server
  readonly #codes = new Map<string, Granted>()
  /** Overrides claims of the token, to make it invalid. */
  claims: Readonly<Record<string, unknown>> = {}
  /** Overrides fields of the discovery document. */
  document: Readonly<Record<string, unknown>> = {}
  /** The error to return instead of a code. */
  rejects: string | undefined
  /** Every request, as `METHOD path?query body`. */
  readonly asked: string[] = []

  constructor(
    readonly clientId: string,
    readonly secret?: string,
    /** The issuer serves TLS if given. */
    readonly tls?: { readonly cert: string; readonly key: string },
  ) {
    const answer = (request: IncomingMessage, response: ServerResponse): void => void this.#answer(request, response)
    this.#server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer)
  }

  async start(): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(0, "127.0.0.1", resolve))
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  get url(): string {
    return `${this.tls === undefined ? "http" : "https"}://127.0.0.1:${(this.#server.address() as AddressInfo).port}` // it listens on a port
  }

  /** The user of a token, as verified by an API server with this issuer. Undefined if the token is invalid. */
  verified(token: string): string | undefined {
    const [head = "", body = "", signature = ""] = token.split(".")
    const isGood = verify(
      "RSA-SHA256",
      Buffer.from(`${head}.${body}`),
      KEYS.publicKey,
      Buffer.from(signature, "base64url"),
    )
    if (!isGood) return undefined
    const { iss, aud, exp, sub } = JSON.parse(Buffer.from(body, "base64url").toString("utf8"))
    return iss === this.url && aud === this.clientId && exp * 1_000 > Date.now() ? String(sub) : undefined
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.url)
    let body = ""
    for await (const chunk of request) body += String(chunk)
    this.asked.push(`${request.method} ${request.url} ${body}`)
    const json = (status: number, value: object): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))
    }
    if (url.pathname === "/.well-known/openid-configuration") {
      const own = { authorization_endpoint: `${this.url}/authorize`, token_endpoint: `${this.url}/token` }
      const keys = { jwks_uri: `${this.url}/keys` }
      return json(200, { issuer: this.url, ...own, ...keys, ...this.document })
    }
    if (url.pathname === "/authorize") return this.#authorize(url.searchParams, response)
    if (url.pathname === "/keys") return json(200, { keys: [KEYS.publicKey.export({ format: "jwk" })] })
    if (url.pathname !== "/token") return json(404, {})
    const granted = this.#granted(new URLSearchParams(body))
    if (granted === undefined) return json(400, { error: "invalid_grant" })
    json(200, { token_type: "Bearer", access_token: "unused", id_token: this.#token(granted.get("nonce")) })
  }

  #authorize(query: URLSearchParams, response: ServerResponse): void {
    const back = new URL(query.get("redirect_uri") ?? "")
    const code = randomUUID()
    this.#codes.set(code, { query })
    back.searchParams.set("state", query.get("state") ?? "")
    if (this.rejects === undefined) back.searchParams.set("code", code)
    else back.searchParams.set("error", this.rejects)
    response.writeHead(302, { location: back.href }).end()
  }

  /** Redeems a code once, and only for the client that requested it. */
  #granted(form: URLSearchParams): URLSearchParams | undefined {
    const query = this.#codes.get(form.get("code") ?? "")?.query
    this.#codes.delete(form.get("code") ?? "")
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url")
    const isOwn =
      query?.get("client_id") === this.clientId &&
      form.get("client_id") === this.clientId &&
      (this.secret === undefined || form.get("client_secret") === this.secret) &&
      query.get("redirect_uri") === form.get("redirect_uri") &&
      query.get("code_challenge_method") === "S256" &&
      query.get("code_challenge") === challenge
    return isOwn ? query : undefined
  }

  #token(nonce: string | null): string {
    const now = Math.floor(Date.now() / 1_000)
    const result = { iss: this.url, aud: this.clientId, sub: "jane", iat: now, exp: now + 600, nonce, ...this.claims }
    const text = [{ alg: "RS256", typ: "JWT" }, result].map(part =>
      Buffer.from(JSON.stringify(part)).toString("base64url"),
    )
    const signature = sign("RSA-SHA256", Buffer.from(text.join(".")), KEYS.privateKey)
    return [...text, signature.toString("base64url")].join(".")
  }
}
