// SPDX-License-Identifier: Apache-2.0
// The console's server: the page and its files, `session` to sign in and out, and `api/`, which forwards to the
// Kubernetes API. Works below any path prefix that a proxy in front strips; the page uses relative addresses.

import { randomBytes } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { limitConnections } from "@merlon/wire/limits"
import { AllowedPaths, type PathNames } from "./allowed-paths.js"
import { type Assets, PAGE } from "./assets.js"
import { isOwn, rejection } from "./guard.js"
import { OidcIssuer } from "./oidc-issuer.js"
import { OIDC_LIFE_MS, OidcSignIn } from "./oidc-sign-in.js"
import { passOn } from "./pass-on.js"
import { readBody, TooLarge } from "./read-body.js"
import { headers, pagePolicy, sendFailure, sendJson } from "./reply.js"
import { type Session, type SessionHalves, Sessions } from "./sessions.js"
import { enter, type SignedIn, type SignIn, SignInError, signIn } from "./sign-in.js"

export interface ConsoleOptions {
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /** Host names of the console besides this machine's own. */
  readonly hosts: readonly string[]
  readonly names: PathNames & { readonly mesh: string; readonly domain: string; readonly rootNamespace: string }
  readonly version: string
  readonly assets: Assets
  readonly signIn: SignIn
  readonly onError: (error: unknown) => void
}

export interface Console {
  readonly port: number
  close(): Promise<void>
}

const COOKIE = "merlon-console"
/**
 * The cookie of a sign-in at an issuer. SameSite is Lax, because the redirect back comes from the issuer. Its path is
 * the page's folder, which contains every step.
 */
const WAY_IN_COOKIE = "merlon-console-way-in"
const WAY_IN = "/oidc-start"
const WAY_BACK = "/oidc-callback"
const BACK_HOME = "./#/sign-in?oidc"
/** 32 random bytes, as base64url or hex. */
const PAGE_SECRET = /^[\w-]{43,64}$/
const PAGE_KEY = "x-merlon-page"
const MAX_SIGN_IN = 32 << 10
const FOREVER = "public, max-age=31536000, immutable"

export async function startConsole(options: ConsoleOptions): Promise<Console> {
  const handler = new Handler(options)
  const server = createServer({
    requestTimeout: 60_000,
    headersTimeout: 10_000,
    connectionsCheckingInterval: 1_000,
    maxHeaderSize: 16 << 10,
  })
  limitConnections(server)
  server.on("request", (request, response) => {
    handler.handle(request, response).catch(error => {
      // A client that disconnects during its own request is not an error of ours and is not logged.
      if (request.errored !== null) return void response.destroy()
      options.onError(error)
      sendFailure(response, 500, "InternalError", "the console failed; its log says how")
    })
  })
  await listening(server, options)
  return {
    port: (server.address() as AddressInfo).port, // it listens on a port, not on a pipe
    close: async () => {
      const closed = new Promise(resolve => server.close(resolve))
      await handler.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function listening(server: Server, { host, port }: ConsoleOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(port, host, resolve)
  })
}

class Handler {
  readonly #options: ConsoleOptions
  readonly #allowed: AllowedPaths
  readonly #sessions = new Sessions()
  readonly #oidc: OidcSignIn | undefined

  constructor(options: ConsoleOptions) {
    this.#options = options
    this.#allowed = new AllowedPaths(options.names)
    const { oidc, withToken } = options.signIn
    this.#oidc =
      oidc &&
      withToken &&
      new OidcSignIn(new OidcIssuer(oidc), ({ token, expires }) => enter(withToken(token), expires))
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url = "/" } = request
    const why = rejection(method, request.headers, this.#options)
    if (why !== undefined) return sendFailure(response, 403, "Forbidden", why)
    const path = url.split("?", 1)[0] ?? "/"
    if (path === "/session") return this.#session(request, response)
    if (path.startsWith("/api/")) return this.#api(request, response, url.slice("/api".length))
    if (method !== "GET" && method !== "HEAD") return sendFailure(response, 405, "MethodNotAllowed", "GET it")
    if (path === "/" || path === `/${PAGE}`) return this.#page(response)
    if (this.#oidc !== undefined && path === WAY_IN) return this.#away(this.#oidc, request, response)
    if (this.#oidc !== undefined && path === WAY_BACK) return this.#back(this.#oidc, request, response)
    return this.#file(request, response, path.slice(1))
  }

  async close(): Promise<void> {
    await this.#sessions.close()
  }

  async #away(oidc: OidcSignIn, request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Only the page knows its path behind a proxy. The rest of the address is checked.
    const home = queryOf(request).get("at") ?? ""
    if (!isOwn(home, request.headers.host, this.#options.hosts)) {
      return sendFailure(response, 400, "BadRequest", "`at` must be the address of this page")
    }
    const page = queryOf(request).get("page") ?? ""
    if (!PAGE_SECRET.test(page)) return sendFailure(response, 400, "BadRequest", "`page` must be the page's secret")
    const { cookie, location } = await oidc.start(new URL(`.${WAY_BACK}`, home).href, BACK_HOME, page)
    redirect(response, location, wayInCookie(request, cookie))
  }

  #back(oidc: OidcSignIn, request: IncomingMessage, response: ServerResponse): void {
    const cookie = oidc.back(cookieOf(request, WAY_IN_COOKIE), queryOf(request))
    // Removes the code from the address and the history. The page then asks with its cookie.
    redirect(response, BACK_HOME, cookie === undefined ? undefined : wayInCookie(request, cookie))
  }

  #shown(request: IncomingMessage, shown: unknown): Promise<SignedIn> {
    const page = typeof shown === "object" && shown !== null && "oidc" in shown ? shown.oidc : undefined
    if (page !== undefined && this.#oidc !== undefined)
      return this.#oidc.take(cookieOf(request, WAY_IN_COOKIE), typeof page === "string" ? page : "")
    return signIn(this.#options.signIn, shown)
  }

  async #session(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "POST") return this.#open(request, response)
    const halves = halvesOf(request)
    if (request.method === "DELETE") {
      this.#sessions.end(halves)
      return sendJson(response, 200, {}, { "set-cookie": `${COOKIE}=; HttpOnly; SameSite=Strict; Max-Age=0` })
    }
    if (request.method !== "GET") return sendFailure(response, 405, "MethodNotAllowed", "GET, POST or DELETE it")
    const session = this.#sessions.find(halves)
    return sendJson(response, 200, { ...this.#about(), ...(session && { user: about(session) }) })
  }

  async #open(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const shown = json(await readBody(request, MAX_SIGN_IN))
      const who = await this.#shown(request, shown)
      const { cookie, page, ends } = this.#sessions.open(who)
      // Without a path, the cookie applies to the folder of the request, whatever prefix a proxy adds.
      const header = `${COOKIE}=${cookie}; HttpOnly; SameSite=Strict${secureFor(request)}`
      sendJson(response, 200, { ...this.#about(), user: about({ ...who, ends }), page }, { "set-cookie": header })
    } catch (error) {
      if (error instanceof TooLarge) return sendFailure(response, 413, "RequestEntityTooLarge", error.message)
      if (!(error instanceof SignInError)) throw error
      sendFailure(response, error.status, error.status === 401 ? "Unauthorized" : "BadRequest", error.message)
    }
  }

  async #api(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const session = this.#sessions.find(halvesOf(request))
    if (session === undefined) return sendFailure(response, 401, "Unauthorized", "sign in first")
    return passOn(request, response, path, session, this.#allowed)
  }

  #page(response: ServerResponse): void {
    const nonce = randomBytes(16).toString("base64url")
    response.writeHead(200, headers("text/html; charset=utf-8", pagePolicy(nonce)))
    response.end(this.#options.assets.page.replaceAll("NONCE", nonce))
  }

  #file(request: IncomingMessage, response: ServerResponse, name: string): void {
    const asset = this.#options.assets.files.get(name)
    if (asset === undefined) {
      sendFailure(response, 404, "NotFound", "the console has no such page")
      return
    }
    const isSmall = /\bbr\b/.test(String(request.headers["accept-encoding"]))
    response.writeHead(200, {
      ...headers(asset.type),
      "cache-control": name.startsWith("assets/") ? FOREVER : "no-cache",
      vary: "accept-encoding",
      ...(isSmall ? { "content-encoding": "br" } : {}),
    })
    response.end(isSmall ? asset.brotli : asset.plain)
  }

  /** What a page needs before a user has signed in. */
  #about() {
    const { names, version, signIn: how } = this.#options
    return {
      names,
      version,
      signIn: {
        token: how.withToken !== undefined,
        link: how.withCode !== undefined,
        ...(this.#oidc && how.oidc && { oidc: new URL(how.oidc.issuer).host }),
      },
    }
  }
}

function about({ user, groups, ends }: Pick<Session, "user" | "groups" | "ends">) {
  return { name: user, groups, ends: new Date(ends).toISOString() }
}

function halvesOf(request: IncomingMessage): SessionHalves {
  const page = request.headers[PAGE_KEY]
  return { cookie: cookieOf(request, COOKIE), page: typeof page === "string" ? page : "" }
}

function cookieOf({ headers: { cookie = "" } }: IncomingMessage, name: string): string {
  const own = cookie.split(/;\s*/).find(part => part.startsWith(`${name}=`))
  return own?.slice(name.length + 1) ?? ""
}

function wayInCookie(request: IncomingMessage, cookie: string): string {
  const life = `Max-Age=${OIDC_LIFE_MS / 1_000}`
  return `${WAY_IN_COOKIE}=${cookie}; HttpOnly; SameSite=Lax; ${life}${secureFor(request)}`
}

function secureFor({ headers: from }: IncomingMessage): string {
  return from["x-forwarded-proto"] === "https" ? "; Secure" : ""
}

function queryOf({ url = "/" }: IncomingMessage): URLSearchParams {
  const at = url.indexOf("?")
  return new URLSearchParams(at < 0 ? "" : url.slice(at + 1))
}

function redirect(response: ServerResponse, location: string, cookie?: string): void {
  response.writeHead(302, {
    ...headers("text/plain"),
    location,
    ...(cookie === undefined ? {} : { "set-cookie": cookie }),
  })
  response.end()
}

function json(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"))
  } catch {
    throw new SignInError(400, "send JSON with `token` or `code`")
  }
}
