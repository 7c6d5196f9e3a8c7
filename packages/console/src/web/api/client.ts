// SPDX-License-Identifier: Apache-2.0
// Requests to the console's server. Only this origin stores the page's half of a session, which is worthless without
// the cookie, and no script can read that.

const PAGE_KEY = "merlon-page"
const PAGE_HEADER = "x-merlon-page"

export interface Names {
  readonly mesh: string
  readonly domain: string
  readonly rootNamespace: string
  readonly securityGroup: string
  readonly networkingGroup: string
  readonly answersGroup: string
}

export interface About {
  readonly names: Names
  readonly version: string
  /** `oidc`: the host of the issuer where users can sign in. */
  readonly signIn: { readonly token: boolean; readonly link: boolean; readonly oidc?: string }
  /** Why a link did not sign the user in. */
  readonly linkTrouble?: string
  readonly user?: { readonly name: string; readonly groups: readonly string[]; readonly ends: string }
}

export class ApiError extends Error {
  override readonly name = "ApiError"

  constructor(
    readonly status: number,
    readonly reason: string,
    message: string,
    /** Causes per field, if the API returns them. */
    readonly causes: readonly { readonly field?: string; readonly message?: string }[] = [],
  ) {
    super(message)
  }
}

export interface Sent {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  readonly body?: unknown
  readonly contentType?: string
  readonly signal?: AbortSignal
}

/** Requests a path of the Kubernetes API and returns its JSON. */
export async function api<T>(path: string, sent: Sent = {}): Promise<T> {
  const answer = await send(`./api${path}`, sent)
  return (await answer.json()) as T // documents of the API; the code that shows a field checks it
}

/** Like `api`, and also returns the API's warnings. */
export async function apiWithWarnings<T>(path: string, sent: Sent): Promise<{ value: T; warnings: readonly string[] }> {
  const answer = await send(`./api${path}`, sent)
  return { value: (await answer.json()) as T, warnings: warningsIn(answer.headers.get("warning") ?? "") }
}

/** Lines of JSON until the signal or the server ends them. No line is missed after this resolves. */
export async function apiLines<T>(path: string, signal: AbortSignal): Promise<AsyncGenerator<T>> {
  return linesOf(await send(`./api${path}`, { signal }), signal)
}

async function* linesOf<T>(answer: Response, signal: AbortSignal): AsyncGenerator<T> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ""
  while (reader !== undefined) {
    const { done, value } = await reader.read().catch(error => {
      throw signal.aborted ? error : unreachable()
    })
    if (done) return
    const lines = (rest + value).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) if (line !== "") yield JSON.parse(line) as T
  }
}

export async function about(): Promise<About> {
  return (await send("./session")).json()
}

/** Loads `about`. If the page was opened by a link with a code, or returns from an issuer, it signs in first. */
export async function openSession(): Promise<About> {
  const code = /^#\/sign-in\?code=([\w.-]+)$/.exec(window.location.hash)?.[1]
  const isBack = window.location.hash === "#/sign-in?oidc"
  if (code === undefined && !isBack) return about()
  // Removes the code from the address and the history first.
  window.history.replaceState(null, "", "#/")
  try {
    return await signIn(code === undefined ? { oidc: localStorage.getItem(OIDC_KEY) ?? "" } : { code })
  } catch (error) {
    return { ...(await about()), linkTrouble: error instanceof Error ? error.message : String(error) }
  }
}

/** The user's credential; after an issuer it is a cookie that no script reads, together with this page's secret. */
type Shown = { readonly token: string } | { readonly code: string } | { readonly oidc: string }

/** Storage belongs to one origin, port included; cookies belong to all ports of a host. */
const OIDC_KEY = "merlon-console-oidc"

/** The address of the sign-in at the issuer. Only the page knows its own path. */
export function issuerAddress(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  const page = localStorage.getItem(OIDC_KEY) ?? [...bytes].map(byte => byte.toString(16).padStart(2, "0")).join("")
  localStorage.setItem(OIDC_KEY, page)
  return `./oidc-start?${new URLSearchParams({ at: new URL(".", window.location.href).href, page }).toString()}`
}

export async function signIn(shown: Shown): Promise<About> {
  const answer = await send("./session", { method: "POST", body: shown })
  const { page, ...rest } = await answer.json()
  localStorage.setItem(PAGE_KEY, page)
  return rest
}

export async function signOut(): Promise<void> {
  await send("./session", { method: "DELETE" }).finally(() => localStorage.removeItem(PAGE_KEY))
}

async function send(address: string, { method = "GET", body, contentType, signal }: Sent = {}): Promise<Response> {
  const headers = {
    accept: "application/json",
    [PAGE_HEADER]: localStorage.getItem(PAGE_KEY) ?? "",
    ...(body === undefined ? {} : { "content-type": contentType ?? "application/json" }),
  }
  const text = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body)
  let answer: Response
  try {
    answer = await fetch(address, { method, headers, body: text, ...(signal && { signal }), cache: "no-store" })
  } catch (error) {
    if (signal?.aborted) throw error
    throw unreachable()
  }
  if (answer.ok) return answer
  const status = await answer.json().catch(() => ({}))
  throw new ApiError(
    answer.status,
    String(status.reason ?? ""),
    String(status.message ?? `the API answered ${answer.status}`),
    Array.isArray(status.details?.causes) ? status.details.causes : [],
  )
}

function unreachable(): ApiError {
  return new ApiError(503, "Unreachable", "the console's server does not answer")
}

/**
 * Parses `299 - "text"`, several of them separated by commas. Servers send UTF-8, and the browser returns each byte as
 * a character.
 */
function warningsIn(header: string): readonly string[] {
  const text = new TextDecoder().decode(Uint8Array.from(header, byte => byte.charCodeAt(0)))
  return [...text.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) => text.replace(/\\(.)/g, "$1"))
}
