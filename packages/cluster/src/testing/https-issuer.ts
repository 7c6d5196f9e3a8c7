// SPDX-License-Identifier: Apache-2.0
// An OpenID Connect issuer over real TLS that serves what an API server requests: its discovery document and its keys.

import { generateKeyPairSync, type KeyObject } from "node:crypto"
import { createServer, type Server } from "node:https"
import type { AddressInfo } from "node:net"
import { type JWTPayload, SignJWT } from "jose"
import type { Credentials } from "../auth/pki.js"

export interface SigningKey {
  readonly kid: string | undefined
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export function signingKey(kid: string): SigningKey {
  return { kid, ...generateKeyPairSync("rsa", { modulusLength: 2_048 }) }
}

export class HttpsIssuer {
  readonly #server: Server
  /** The published keys. */
  keys: readonly SigningKey[] = []
  /** Fields that are added to the valid discovery document or replace its fields. */
  document: object = {}
  /** The requested paths, in order. */
  readonly asked: string[] = []
  #port = 0

  constructor({ serverCertificate: cert, serverKey: key }: Credentials) {
    this.#server = createServer({ cert, key }, ({ url = "" }, response) => {
      this.asked.push(url)
      const answers: Record<string, object> = {
        "/.well-known/openid-configuration": { issuer: this.url, jwks_uri: `${this.url}/keys`, ...this.document },
        "/keys": { keys: this.keys.map(({ kid, publicKey }) => ({ kid, ...publicKey.export({ format: "jwk" }) })) },
      }
      const answer = answers[url]
      response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer))
    })
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`
  }

  /** Uses any free port at the first start, and the same port at later starts. */
  async start(): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(this.#port, "127.0.0.1", resolve))
    this.#port = (this.#server.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async sign(claims: JWTPayload, by = this.keys[0], alg = "RS256"): Promise<string> {
    if (by === undefined) throw new Error("the issuer has no key")
    const { kid, privateKey } = by
    const header = { alg, ...(kid === undefined ? {} : { kid }) }
    return new SignJWT(claims).setProtectedHeader(header).sign(privateKey)
  }
}
