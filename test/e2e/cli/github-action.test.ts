// SPDX-License-Identifier: Apache-2.0
// The steps of action.yml as written, in a separate repository, with a server in place of GitHub's API.
// @module-tag needs/bash

import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest"
import { readAction, runAction } from "./support/composite-action.js"

const action = readAction("action.yml")
let temp = ""
let repository = ""
let base = ""
let server: Server
let comments: { id: number; body: string }[] = []
let requests: string[] = []
let rejects = false

const git = (...args: readonly string[]): string =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", "-C", repository, ...args], {
    encoding: "utf8",
  }).trim()

beforeAll(async () => {
  temp = mkdtempSync(join(tmpdir(), "merlon-action-"))
  repository = join(temp, "repository")
  mkdirSync(repository)
  git("init", "-q")
  cpSync("samples/answers/now", join(repository, "policies"), { recursive: true })
  cpSync("samples/manifests/httpbin.yaml", join(repository, "workloads.yaml"))
  git("add", ".")
  git("commit", "-q", "-m", "now")
  base = git("rev-parse", "HEAD")
  server = createServer((request, response) => {
    const { method = "", url = "", headers } = request
    let text = ""
    request.on("data", chunk => (text += chunk))
    request.on("end", () => {
      requests.push(`${method} ${url.replace(/\?.*/, "")} ${headers.authorization}`)
      const body = text === "" ? undefined : JSON.parse(text).body
      if (method === "POST") comments.push({ id: comments.length + 1, body })
      if (method === "PATCH") comments = comments.map(one => (url.endsWith(`/${one.id}`) ? { ...one, body } : one))
      const page = Number(new URL(url, "http://x").searchParams.get("page") ?? 1)
      response.statusCode = rejects ? 403 : 200
      response.end(JSON.stringify(method === "GET" ? comments.slice((page - 1) * 100, page * 100) : {}))
    })
  })
  await new Promise<void>(done => server.listen(0, "127.0.0.1", done))
})
afterAll(() => {
  server.close()
  rmSync(temp, { recursive: true })
})
beforeEach(() => {
  comments = []
  requests = []
  rejects = false
  git("reset", "-q", "--hard", base)
  git("clean", "-q", "-f", "-d")
})

const policies = (from: string): void => cpSync(from, join(repository, "policies"), { recursive: true })

function run(inputs: Readonly<Record<string, string>> = {}, isPullRequest = true) {
  const { port } = server.address() as AddressInfo // listens on TCP
  return runAction(action, {
    inputs: { workloads: "workloads.yaml", merlonctl: `node ${resolve("packages/cli/bin/merlonctl.js")}`, ...inputs },
    github: {
      token: "secret",
      ...(isPullRequest ? { "event.pull_request.number": "7", "event.pull_request.base.sha": base } : {}),
    },
    env: {
      GITHUB_ACTION_PATH: resolve("."),
      GITHUB_API_URL: `http://127.0.0.1:${port}`,
      GITHUB_REPOSITORY: "owner/name",
    },
    cwd: repository,
    temp,
  })
}

it("writes no value into a script", () => {
  expect(action.runs.steps.filter(step => step.run?.includes("${{"))).toEqual([])
})

it("comments a change, uploads findings, and fails on widening", async () => {
  policies("samples/answers/next")
  const { failed, summary, outputs, used, log } = await run()
  expect(failed).toBe("Decide")
  expect(outputs).toMatchObject({ result: "5", findings: "0" })
  expect(summary).toContain("newly allowed")
  expect(comments).toEqual([{ id: 1, body: `<!-- merlon policy check -->\n${summary}` }])
  expect(requests.at(-1)).toBe("POST /repos/owner/name/issues/7/comments Bearer secret")
  expect(used).toEqual([
    { uses: "github/codeql-action/upload-sarif@v3", with: { sarif_file: outputs.sarif, category: "merlon" } },
  ])
  const { version, runs } = JSON.parse(readFileSync(outputs.sarif ?? "", "utf8"))
  expect([version, runs[0].tool.driver.name]).toEqual(["2.1.0", "merlonctl analyze"])
  expect(log).not.toContain("secret")
})

it("passes the same change if only narrowing fails, and replaces its comment", async () => {
  comments = Array.from({ length: 101 }, (_, id) => ({ id, body: "other" }))
  comments.push({ id: 500, body: "<!-- merlon policy check -->\nformer" })
  policies("samples/answers/next")
  expect(await run({ "fail-on": "narrow" })).toMatchObject({ failed: undefined, outputs: { result: "0" } })
  expect(comments).toHaveLength(102)
  expect(comments.at(-1)?.body).toContain("newly allowed")
})

it("passes and reports it if nothing changes", async () => {
  const { failed, outputs, summary } = await run({ "fail-on": "any" })
  expect([failed, outputs.result]).toEqual([undefined, "0"])
  expect(summary).toContain("nothing changes")
})

it("never fails if it is configured so", async () => {
  policies("samples/answers/next")
  expect(await run({ "fail-on": "never" })).toMatchObject({ failed: undefined, outputs: { result: "5" } })
})

it("fails on mistakes as configured", async () => {
  cpSync("samples/answers/dead.yaml", join(repository, "policies", "dead.yaml"))
  const quiet = { "fail-on": "never", comment: "false" }
  expect(await run(quiet)).toMatchObject({ failed: undefined, outputs: { findings: "0" } })
  expect(await run({ ...quiet, "analyze-fail-on": "warning" })).toMatchObject({
    failed: "Decide",
    outputs: { findings: "5" },
  })
  expect(requests).toEqual([])
})

it("reports why policies cannot be compared, and fails", async () => {
  writeFileSync(
    join(repository, "policies", "bad.yaml"),
    "kind: AuthorizationPolicy\napiVersion: security.merlon.dev/v1alpha3\nspec: 7\n",
  )
  const { failed, summary, outputs, used } = await run()
  expect([failed, outputs.result, outputs.findings]).toEqual(["Decide", "1", "1"])
  expect(summary).toContain("error[invalid-document]")
  expect([comments.length, used]).toEqual([1, []])
})

it("compares the first policies of a repository with an empty set", async () => {
  git("mv", "policies", "first")
  expect(await run({ policies: "first", "fail-on": "never" })).toMatchObject({
    failed: undefined,
    outputs: { result: "5" },
  })
})

it("does not fail for a token that must not comment", async () => {
  rejects = true
  const { failed, log } = await run()
  expect(failed).toBeUndefined()
  expect(log).toContain("::warning title=Merlon::the comment was not written: GET 7/comments")
})

it("does not comment outside of a pull request, and asks for a revision there", async () => {
  expect(await run({}, false)).toMatchObject({
    failed: "Compare policies",
    log: expect.stringContaining("set the input base"),
  })
  expect(await run({ base }, false)).toMatchObject({ failed: undefined })
  expect(requests).toEqual([])
})
