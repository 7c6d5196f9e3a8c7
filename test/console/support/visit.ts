// SPDX-License-Identifier: Apache-2.0
// Users of the console: each has its own browser context, signed in by a link or with a token.

import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { afterAll, afterEach, beforeEach, inject } from "vitest"
import { keptCodes } from "../../../packages/cli/src/serve/console-key.js"
import { Merlonctl } from "../../e2e/local/support/merlonctl.js"
import { whatRuns } from "./what-runs.js"

/** The timeout of a step. Steps normally finish at once, but later on a busy machine. */
export const PATIENCE = 120_000
/** For polls that start a process each time. */
export const SELDOM = { interval: 500 }
export const mesh = new Merlonctl(inject("consoleMesh"))
const run = promisify(execFile)
let connected: Promise<Browser> | undefined
/** Errors that pages logged or threw; empty for correct pages. */
export const complaints: string[] = []

/** Contexts and pages, in the order in which they were opened. */
const opened: { close: () => Promise<void> }[] = []
/** Browser contexts with a signed-in owner, by the address of the console. All tests of a worker share them. */
const owners = new Map<string, Promise<BrowserContext>>()

/** Called before each test file: the files of a worker share this module, but not the pages that their tests opened. */
export function endWithTheirTests(): void {
  complaints.length = 0
  let before = 0
  beforeEach(() => {
    before = opened.length
  })
  // Open pages keep polling, so the pages of a test are closed after it.
  afterEach(() => closeAll(before))
  afterAll(() => closeAll(0))
}

async function closeAll(from: number): Promise<void> {
  for (const one of opened.splice(from)) await one.close()
}

/** An address of the shared mesh's console, or of another mesh's. */
export function address(path = "/", of: Merlonctl = mesh): string {
  return `http://127.0.0.1:${of.record.ports.console}${path}`
}

/** Opens another connection to the browser that all test files share. */
export async function connect(): Promise<Browser> {
  return chromium.connect(await whatRuns(inject("consoleRuns"), "browser"))
}

/** Opens a context that is closed after the test, or after the file if it was opened before the tests. */
export async function newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await openContext(options)
  opened.push(context)
  return context
}

async function openContext(options: BrowserContextOptions): Promise<BrowserContext> {
  connected ??= connect()
  const context = await (await connected).newContext({ reducedMotion: "reduce", ...options })
  context.setDefaultTimeout(PATIENCE)
  context.on("weberror", error => complaints.push(String(error.error())))
  context.on("console", message => {
    if (message.type() === "error" && !/status of (?:4|5)\d\d|ERR_|net::/.test(message.text()))
      complaints.push(message.text())
  })
  return context
}

export function signInLink(of: Merlonctl = mesh): string {
  const codes = keptCodes(of.data)
  if (codes === undefined) throw new Error("the mesh has no key for links")
  return address(`/#/sign-in?code=${codes.make()}`, of)
}

/**
 * Opens a page as the mesh's owner, by default one that sends no queries. It shares its session and its renderer process
 * with the other tests of the worker: a test that signs out, goes offline or stops the clock uses `asOwnerAlone`.
 */
export async function asOwner(place = "/nowhere", of: Merlonctl = mesh): Promise<Page> {
  const home = address("/", of)
  const owner = owners.get(home) ?? signedInOwner(of)
  owners.set(home, owner)
  const page = await (await owner).newPage()
  opened.push(page)
  await page.goto(address(`/#${place}`, of))
  await page.getByRole("button", { name: "Sign out" }).waitFor()
  return page
}

/** Like `asOwner`, in a new session and a new browser context. */
export async function asOwnerAlone(
  place = "/",
  { of = mesh, ...options }: BrowserContextOptions & { readonly of?: Merlonctl } = {},
): Promise<Page> {
  const page = await (await newContext(options)).newPage()
  await signIn(page, of)
  await page.goto(address(`/#${place}`, of))
  return page
}

async function signedInOwner(of: Merlonctl): Promise<BrowserContext> {
  const context = await openContext({})
  const page = await context.newPage()
  await signIn(page, of)
  // This page without scripts stays open, so that Chromium keeps the renderer process for the pages of the next test.
  await page.goto(address("/icon.svg", of))
  return context
}

async function signIn(page: Page, of: Merlonctl): Promise<void> {
  await page.goto(signInLink(of))
  await page.getByRole("button", { name: "Sign out" }).waitFor()
}

export async function kubectl(...args: readonly string[]): Promise<string> {
  const env = { PATH: process.env.PATH ?? "", KUBECONFIG: `${mesh.data}/kubeconfig`, HOME: mesh.data }
  return (await run("kubectl", [...args], { env })).stdout.trim()
}

/** Applies objects with `kubectl apply`. */
export async function apply(...objects: readonly object[]): Promise<void> {
  const env = { PATH: process.env.PATH ?? "", KUBECONFIG: `${mesh.data}/kubeconfig`, HOME: mesh.data }
  const applied = run("kubectl", ["apply", "-f", "-"], { env })
  applied.child.stdin?.end(JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }))
  await applied
}

/** A token of a ServiceAccount with the given ClusterRole, or without any. */
export async function tokenOf(name: string, role?: string): Promise<string> {
  const account = `default:${name}`
  await kubectl("create", "serviceaccount", name)
  if (role !== undefined) {
    await kubectl("create", "clusterrolebinding", name, `--clusterrole=${role}`, `--serviceaccount=${account}`)
  }
  return kubectl("create", "token", name)
}

export async function withToken(token: string, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await (await newContext(options)).newPage()
  await page.goto(address())
  await page.getByLabel("Cluster token").fill(token)
  await page.getByRole("button", { name: "Sign in" }).click()
  return page
}
