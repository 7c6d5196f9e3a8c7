// SPDX-License-Identifier: Apache-2.0
// The set-up of the gateway tests: an application, an xserver with some policies, authorizers with the same ones, and
// requests that all of them must decide in the same way.

import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { expect } from "vitest"
import { eventually } from "../../../packages/wire/src/testing/eventually.js"
import { blocks } from "../../../scripts/markdown-blocks.js"
import { type Application, startApplication } from "./application.js"
import { document, XserverProcess } from "./xserver.js"

export interface Asked {
  readonly method: string
  readonly path: string
  /** A list means several lines of one header. */
  readonly headers: Readonly<Record<string, string | string[]>>
}

interface Credentials {
  readonly user: unknown
  readonly lookalike: unknown
  readonly token: unknown
}

export interface Seen {
  readonly status: number
  /** What the application saw of the request, if it received it. */
  readonly application: ({ readonly url: string } & Credentials) | undefined
}

const SPELLINGS = ["/public//a", "/public/%2e%2e/private/a", "/public/./a", "/public/\\a"]

export class GatewayRig {
  readonly application: Application
  readonly xserver: XserverProcess
  readonly asked: fc.Arbitrary<Asked>
  readonly #policies: readonly object[]
  readonly #ended: (() => unknown)[] = []

  private constructor(
    application: Application,
    xserver: XserverProcess,
    policies: readonly object[],
    asked: fc.Arbitrary<Asked>,
  ) {
    this.application = application
    this.xserver = xserver
    this.asked = asked
    this.#policies = policies
    this.atEnd(() => xserver.remove())
  }

  static async start(): Promise<GatewayRig> {
    const application = await startApplication()
    const { policies, tokens } = await policiesWithTokens()
    const xserver = await XserverProcess.start({ upstream: application.port, policies })
    return new GatewayRig(application, xserver, policies, requestsWith(tokens))
  }

  atEnd(end: () => unknown): void {
    this.#ended.push(end)
  }

  async stop(): Promise<void> {
    for (const end of this.#ended.splice(0).reverse()) await end()
    await this.application.close()
  }

  async startAuthorizer(args: readonly string[]): Promise<XserverProcess> {
    const policies = this.#policies
    const authorizer = await XserverProcess.start({ upstream: 1, policies, command: "authorizer", args })
    this.atEnd(() => authorizer.remove())
    return authorizer
  }

  /** A folder that is removed at the end. */
  folder(name: string): string {
    const folder = mkdtempSync(join(tmpdir(), `merlon-${name}-`))
    this.atEnd(() => rmSync(folder, { recursive: true, force: true }))
    return folder
  }

  /** Runs a gateway, or a part of one, until the end. */
  run(command: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
    const child = spawn(command, args, { stdio: "ignore", ...options })
    this.atEnd(() => stopped(child))
    return child
  }

  /** Waits until something listens on the port. */
  async answers(what: string, port: number): Promise<void> {
    await eventually(
      async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)
        return answer !== undefined
      },
      { what: `${what} answers` },
    )
  }

  ask(port: number, { method, path, headers }: Asked): Promise<Seen> {
    return new Promise((resolve, reject) => {
      const before = this.application.requests.length
      const call = request({ host: "127.0.0.1", port, method, path, headers: { host: "shop.example", ...headers } })
      call.on("error", reject)
      call.on("response", response => {
        response.resume()
        response.on("end", () => {
          const arrived = this.application.requests.slice(before)[0]
          resolve({
            status: response.statusCode ?? 0,
            application: arrived && { url: arrived.url, ...credentialsIn(arrived.headers) },
          })
        })
      })
      call.end()
    })
  }

  /** `asGateway`: how the gateway reports a status of the authorizer that is neither 401 nor 403. */
  async agreesWithXserver(
    gateway: number,
    asGateway: (status: number) => number = status => status,
    asked = this.asked,
  ): Promise<void> {
    await fc.assert(
      fc.asyncProperty(asked, async each => {
        const expected = await this.ask(this.xserver.port, each)
        const got = await this.ask(gateway, each)
        expect(got).toEqual({ ...expected, status: asGateway(expected.status) })
      }),
      { numRuns: 60 },
    )
    await this.#deniesOneOfSeveralLines(gateway)
  }

  /** If a proxy would see a value in one of several lines, no gateway may hide it by joining them. */
  async #deniesOneOfSeveralLines(gateway: number): Promise<void> {
    const hiding = [
      { "x-role": ["staff", "banned"] },
      { "x-role": ["banned", "staff"] },
      { authorization: ["Basic YTpi", "Bearer a.b.c"] },
    ]
    for (const headers of hiding) {
      const asked = { method: "GET", path: "/public/a", headers }
      const both = [await this.ask(this.xserver.port, asked), await this.ask(gateway, asked)]
      for (const { status, application } of both)
        expect([headers, application, status >= 400]).toEqual([headers, undefined, true])
    }
  }

  async deniesOtherSpellings(gateway: number, isSpelled: (path: string) => boolean = () => true): Promise<void> {
    for (const path of SPELLINGS.filter(isSpelled)) {
      const { status, application: seen } = await this.ask(gateway, { method: "GET", path, headers: {} })
      expect([path, seen, status >= 400], path).toEqual([path, undefined, true])
    }
  }

  /** For gateways that normalize paths: the application receives the path that was decided on. */
  async normalizesOtherSpellings(gateway: number): Promise<void> {
    for (const path of SPELLINGS) {
      const { status, application: seen } = await this.ask(gateway, { method: "GET", path, headers: {} })
      // Some escape a backslash, both for the authorizer and for the application.
      if (status < 300) expect(seen?.url, path).toMatch(/^\/public\/(%5C)?a$/)
      else expect([path, seen]).toEqual([path, undefined])
    }
  }

  /** Called after the authorizer was stopped. */
  async deniesAllWith(gateway: number, status: number): Promise<void> {
    const asked = { method: "GET", path: "/public/a", headers: {} }
    expect(await this.ask(gateway, asked)).toEqual({ status, application: undefined })
  }
}

/** The code block of the page in this language that contains these words. */
export function documented(page: string, language: string, words: string): string {
  const all = blocks(readFileSync(page, "utf8"))
  const found = all.find(block => block.language === language && block.text.includes(words))
  if (found === undefined) throw new Error(`${page} has no block \`${language}\` with \`${words}\``)
  return found.text
}

export async function stopped(child: ChildProcess): Promise<void> {
  const gone = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined
  child.kill("SIGKILL")
  await gone
}

async function policiesWithTokens() {
  const { publicKey, privateKey } = await generateKeyPair("ES256")
  const token = (issuer: string, subject: string) =>
    new SignJWT({})
      .setProtectedHeader({ alg: "ES256", kid: "k" })
      .setIssuer(issuer)
      .setSubject(subject)
      .sign(privateKey)
  const good = await token("https://issuer.example", "alice")
  const tokens: Readonly<Record<string, string | undefined>> = {
    none: undefined,
    good,
    other: await token("https://issuer.example", "bob"),
    umlaut: await token("https://issuer.example", "zoë"),
    foreign: await token("https://other.example", "alice"),
    broken: `${good}x`,
  }
  const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }] })
  const policies = [
    document("RequestAuthentication", "issuer", {
      jwtRules: [
        {
          issuer: "https://issuer.example",
          jwks,
          outputClaimToHeaders: [{ header: "x-user", claim: "sub" }],
        },
      ],
    }),
    document("AuthorizationPolicy", "allowed", {
      rules: [
        { to: [{ operation: { methods: ["GET", "HEAD"], paths: ["/public/*"] } }] },
        {
          from: [{ source: { requestPrincipals: ["https://issuer.example/alice"] } }],
          to: [{ operation: { paths: ["/private/*", "/admin"], hosts: ["shop.example"] } }],
        },
      ],
    }),
    document("AuthorizationPolicy", "denied", {
      action: "DENY",
      denyResponse: { status: 429, body: "later", headers: [{ name: "retry-after", value: "60" }] },
      rules: [
        {
          to: [{ operation: { paths: ["/admin"] } }],
          when: [{ key: "request.headers[x-role]", notValues: ["admin"] }],
        },
        { when: [{ key: "request.headers[x-role]", values: ["banned"] }] },
      ],
    }),
  ]
  return { policies, tokens }
}

/** The caller that the application would see. */
function credentialsIn(headers: Readonly<Record<string, unknown>>): Credentials {
  const { "x-user": user, x_user: lookalike, authorization: token } = headers
  return { user, lookalike, token }
}

function requestsWith(tokens: Readonly<Record<string, string | undefined>>): fc.Arbitrary<Asked> {
  return fc
    .record({
      method: fc.constantFrom("GET", "HEAD", "POST", "DELETE"),
      path: fc.constantFrom("/public/a", "/public/a?x=1", "/private/a", "/admin", "/", "/publicity"),
      token: fc.constantFrom("none", "none", "good", "other", "umlaut", "foreign", "broken"),
      role: fc.constantFrom(undefined, "admin", "guest"),
      user: fc.constantFrom(undefined, "mallory"),
      xUser: fc.constantFrom(undefined, "mallory"),
    })
    .map(({ method, path, token, role, user, xUser }): Asked => {
      const headers = {
        authorization: tokens[token] === undefined ? undefined : `Bearer ${tokens[token]}`,
        "x-role": role,
        "x-user": user,
        x_user: xUser,
      }
      const sent = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined)
      return { method, path, headers: Object.fromEntries(sent) }
    })
}
