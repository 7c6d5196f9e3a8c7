// SPDX-License-Identifier: Apache-2.0
// Every way in which a command could read less than its input. It has to read what it can, and if it skips something,
// exit with 4 and claim no proof.

import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { gzipSync } from "node:zlib"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { typed } from "../testing/typed.js"

// The first use of a command loads it, which is slow on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const GROUP = "security.merlon.dev/v1alpha3"
const metadata = { name: "deny", namespace: "foo" }
const DENY = { apiVersion: GROUP, kind: "AuthorizationPolicy", metadata, spec: { action: "DENY", rules: [{}] } }
const { apiVersion: _, ...UNTYPED } = DENY
const GOOD = { ...DENY, metadata: { ...metadata, name: "good" }, spec: { rules: [{}] } }
const container = { name: "app", ports: [{ containerPort: 8080 }] }
const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "foo" },
  spec: { containers: [container] },
}
const TEST = {
  kind: "PolicyTest",
  workloads: { web: { namespace: "foo" } },
  cases: [{ name: "denied", request: {}, expect: "deny" }],
}

let folder = ""
let out = ""
let err = ""
const at = (name: string): string => join(folder, name)
const put = (name: string, value: unknown): void => {
  mkdirSync(dirname(at(name)), { recursive: true })
  // JSON is YAML.
  writeFileSync(at(name), typeof value === "string" || Buffer.isBuffer(value) ? value : JSON.stringify(value))
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-inputs-"))
  put("pods.yaml", POD)
  put("good/good.yaml", GOOD)
})
afterAll(() => rmSync(folder, { recursive: true }))

async function run(...args: string[]): Promise<number> {
  let code = 0
  ;({ code, out, err } = await typed(args))
  return code
}

const COMMANDS: readonly (readonly [string, (policies: string, pods: string) => readonly string[]])[] = [
  ["diff --to", (policies, pods) => ["diff", "--from", at("good"), "--to", policies, "--workloads", pods]],
  ["diff --from", (policies, pods) => ["diff", "--from", policies, "--to", at("good"), "--workloads", pods]],
  ["who-can", (policies, pods) => ["who-can", "foo/web", "-f", policies, "--workloads", pods]],
  ["what-can", (policies, pods) => ["what-can", "foo/web", "-f", policies, "--workloads", pods]],
  ["analyze", (policies, pods) => ["analyze", "-f", policies, "--workloads", pods, "--fail-on", "never"]],
  ["explain", (policies, pods) => ["explain", "foo/web", "-f", policies, "-f", pods, "--path", "/"]],
  ["test", policies => ["test", `${policies}-tested.yaml`]],
]

/** A test case writes its files into a folder of its name. */
type Way = readonly [name: string, write: (folder: string) => void]

const SKIPPED: readonly Way[] = [
  ["the group of another mesh", to => put(`${to}/p.yaml`, { ...DENY, apiVersion: "security.dubbo.apache.org/v1" })],
  ["a mistyped group", to => put(`${to}/p.yaml`, { ...DENY, apiVersion: "security.merlon.dv/v1alpha3" })],
  [
    "a mistyped group and kind",
    to => put(`${to}/p.yaml`, { ...DENY, apiVersion: "security.x.y/v1", kind: "AuthorisationPolicy" }),
  ],
  ["a core apiVersion", to => put(`${to}/p.yaml`, { ...DENY, apiVersion: "v1" })],
  ["`apiversion`", to => put(`${to}/p.yaml`, { ...UNTYPED, apiversion: GROUP })],
  ["`apiVerison`", to => put(`${to}/p.yaml`, { ...UNTYPED, apiVerison: GROUP })],
  ["no apiVersion", to => put(`${to}/p.yaml`, UNTYPED)],
  ["a list without items", to => put(`${to}/p.yaml`, { apiVersion: "v1", kind: "List", item: [DENY] })],
  ["a text", to => put(`${to}/p.yaml`, "../policies")],
  ["the extension .txt", to => put(`${to}/p.txt`, DENY)],
  ["the extension .yaml.bak", to => put(`${to}/p.yaml.bak`, "kind: AuthorizationPolicy\n")],
  ["no extension", to => put(`${to}/policy`, DENY)],
  ["the extension .yaml.gz", to => put(`${to}/p.yaml.gz`, gzipSync(JSON.stringify(DENY)))],
  ["UTF-16 in a text", to => put(`${to}/p.txt`, Buffer.from(JSON.stringify(DENY), "utf16le"))],
  ["a policy far into a text", to => put(`${to}/p.txt`, `${"# \n".repeat(1 << 19)}kind: AuthorizationPolicy\n`)],
  ["a kustomization with patches", to => put(`${to}/kustomization.yaml`, { patches: [{ path: "patch" }] })],
  ["a kustomization of other files", to => put(`${to}/Kustomization.yml`, { resources: ["../more"] })],
  ["a kustomization without extension", to => put(`${to}/Kustomization`, "kind: Kustomization\n")],
  ["a link that leads nowhere", to => symlinkSync("nowhere", at(`${to}/link`))],
  [
    "a workload of another vendor",
    to => put(`${to}/p.yaml`, { ...POD, apiVersion: "argoproj.io/v1", kind: "Rollout" }),
  ],
]

const READ: readonly Way[] = [
  ["the extension .yml", to => put(`${to}/p.yml`, DENY)],
  ["the extension .JSON", to => put(`${to}/p.JSON`, DENY)],
  ["a YAML list", to => put(`${to}/p.yaml`, `- ${JSON.stringify(DENY)}\n`)],
  ["a JSON list", to => put(`${to}/p.json`, [DENY])],
  ["kind: List", to => put(`${to}/p.yaml`, { apiVersion: "v1", kind: "List", items: [DENY] })],
  ["kind: List within a list", to => put(`${to}/p.yaml`, [{ kind: "List", items: [[DENY]] }])],
  [
    "a list of its kind",
    to =>
      put(`${to}/p.yaml`, {
        apiVersion: GROUP,
        kind: "AuthorizationPolicyList",
        items: [{ metadata, spec: DENY.spec }],
      }),
  ],
  ["a kustomization that only lists what is read", kustomization],
  ["a linked file", to => linked(to, "p.yaml")],
  ["a linked folder", to => linked(to, "p")],
  ["a folder linked in a circle", circle],
]

function kustomization(to: string): void {
  put(`${to}/base/p.yaml`, DENY)
  const type = { apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization" }
  put(`${to}/kustomization.yaml`, { ...type, resources: ["good.yaml", "./base"] })
}

function circle(to: string): void {
  put(`${to}/p.yaml`, DENY)
  symlinkSync(".", at(`${to}/circle`))
}

function linked(to: string, name: string): void {
  const target = name === "p" ? `${to}-target` : `${to}-target/p.yaml`
  put(`${to}-target/p.yaml`, DENY)
  symlinkSync(at(target), at(`${to}/${name}`))
}

/** Creates the folder of a case, with or without a readable policy in it, and with a test for each. */
function written([name, write]: Way, beside: boolean): string {
  const to = `${name.replaceAll(/\W+/g, "-")}-${beside ? "beside" : "alone"}`
  mkdirSync(at(to), { recursive: true })
  if (beside) put(`${to}/good.yaml`, GOOD)
  write(to)
  put(`${to}-tested.yaml`, { ...TEST, policies: [to] })
  return at(to)
}

describe.each(COMMANDS)("%s", (command, words) => {
  it.each(SKIPPED.flatMap(way => [[way[0], "beside", way] as const, [way[0], "alone", way] as const]))(
    "skips %s, %s, and proves nothing",
    async (_, where, way) => {
      const path = written([`${command} skips ${way[0]}`, way[1]], where === "beside")
      const code = await run(...words(path, at("pods.yaml")))
      expect(out + err).toContain("skipped: ")
      expect(out).not.toContain("(proved)")
      // Alone, a comparison also reports the readable policy as deleted, and a test fails without its policy.
      const found = where === "alone" ? [4, 5] : command === "test" ? [1] : [4]
      expect(command === "test" ? [1] : found).toContain(code)
    },
  )

  it.each(READ)("reads %s", async (name, write) => {
    const path = written([`${command} reads ${name}`, write], true)
    const code = await run(...words(path, at("pods.yaml")))
    expect(out + err).not.toContain("skipped: ")
    // A DENY of everything: `diff` reports a change, no caller is allowed anything, and a test that expects that
    // passes.
    const codes: Readonly<Record<string, number>> = { "diff --to": 5, "diff --from": 5, explain: 5 }
    expect(code).toBe(codes[command] ?? 0)
    if (command !== "explain") expect(out).toMatch(/read: 2 policies, 1 workload/)
  })

  it("exits with 4 if there is nothing to read", async () => {
    put("tests-only/a.test.yaml", TEST)
    put("tests-only-tested.yaml", { ...TEST, policies: ["tests-only"], cases: [{ request: {}, expect: "allow" }] })
    const code = await run(...words(at("tests-only"), at("pods.yaml")))
    expect([4, 5]).toContain(code)
    expect(out + err).toContain("skipped: ")
    expect(out).not.toContain("(proved)")
  })
})

describe("workloads", () => {
  it.each([
    ["none", { apiVersion: "v1", kind: "Namespace", metadata: { name: "foo" } }],
    ["one of a kind that is not known", { ...POD, apiVersion: "argoproj.io/v1", kind: "Rollout" }],
  ])("that are %s prove nothing", async (_, value) => {
    put("other-pods.yaml", value)
    for (const [command, words] of COMMANDS.filter(([name]) => !["test", "explain", "who-can"].includes(name))) {
      expect([command, await run(...words(at("good"), at("other-pods.yaml")))]).toEqual([command, 4])
      expect(out).toContain("skipped: ")
      expect(out).not.toContain("(proved)")
    }
  })

  it("that were not given prove nothing", async () => {
    expect(await run("what-can", "foo/web", "-f", at("good"))).toBe(4)
    expect(out).toContain("not decided: there is no workload")
    expect(await run("diff", "--from", at("good"), "--to", at("good"), "--workloads", at("good"))).toBe(4)
    expect(out).not.toContain("(proved)")
    expect(await run("analyze", "-f", at("good"))).toBe(0)
    expect(out).toContain("without workloads, rules that do nothing were not looked for")
  })

  it("are read from a list of an API server", async () => {
    put("pod-list.yaml", { apiVersion: "v1", kind: "PodList", items: [{ metadata: POD.metadata, spec: POD.spec }] })
    expect(await run("who-can", "foo/web", "-f", at("good"), "--workloads", at("pod-list.yaml"))).toBe(0)
  })

  it("have the ports of init containers that keep running", async () => {
    const sidecar = { name: "side", restartPolicy: "Always", ports: [{ containerPort: 9090 }] }
    put("sidecar.yaml", { ...POD, spec: { containers: [container], initContainers: [sidecar] } })
    const ports = { ...GOOD, spec: { rules: [{ to: [{ operation: { ports: ["9090"] } }] }] } }
    put("port/p.yaml", ports)
    expect(await run("who-can", "foo/web", "-f", at("port"), "--workloads", at("sidecar.yaml"), "--port", "9090")).toBe(
      0,
    )
    expect(out).toContain("foo/good")
  })
})

describe("a policy that changes", () => {
  const misplaced = { ...DENY, metadata: { ...metadata, namespace: "fooo" } }

  it("in a namespace without workloads proves nothing", async () => {
    put("misplaced/p.yaml", [misplaced, GOOD])
    const words = ["diff", "--from", at("good"), "--to", at("misplaced"), "--workloads", at("pods.yaml")]
    expect(await run(...words)).toBe(4)
    expect(out).toContain("skipped: AuthorizationPolicy fooo/deny: no workload of namespace `fooo` was read")
    expect(await run(...words, "-o", "json")).toBe(4)
    expect(JSON.parse(out.slice(out.indexOf("{")))).toMatchObject({ result: "undecided", read: { workloads: 1 } })
    expect(await run(...words, "-o", "md")).toBe(4)
    expect(out).toContain("- skipped: AuthorizationPolicy fooo/deny")
  })

  it("in a namespace without workloads proves nothing if it is deleted", async () => {
    const words = ["diff", "--from", at("misplaced"), "--to", at("good"), "--workloads", at("pods.yaml")]
    expect(await run(...words)).toBe(4)
    expect(out).toContain("skipped: AuthorizationPolicy fooo/deny: no workload of namespace `fooo` was read")
  })

  it.each([
    ["is added", "good", "unselecting"],
    ["is deleted", "unselecting", "good"],
    ["changes", "unselecting", "unselecting-other"],
  ])("and selects no workload is named, and nothing is claimed about it: %s", async (how, from, to) => {
    const elsewhere = (labels: object) => ({ ...DENY, spec: { ...DENY.spec, selector: { matchLabels: labels } } })
    put("unselecting/p.yaml", [elsewhere({ app: "wbe" }), GOOD])
    put("unselecting-other/p.yaml", [elsewhere({ app: "bew" }), GOOD])
    const words = ["diff", "--from", at(from), "--to", at(to), "--workloads", at("pods.yaml")]
    const received = `AuthorizationPolicy foo/deny ${how}, and selects none of the workloads that were read`
    expect(await run(...words)).toBe(0)
    expect(out).toContain("nothing changes among the workloads read: every request to")
    expect(out).toContain(`note: ${received}\n`)
    expect(await run(...words, "-o", "json")).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ result: "equal", unselected: [received] })
    expect(await run(...words, "-o", "md")).toBe(0)
    expect(out).toContain(`- note: ${received}`)
  })

  it("in no way there changes nothing", async () => {
    const words = ["diff", "--from", at("misplaced"), "--to", at("misplaced"), "--workloads", at("pods.yaml")]
    expect(await run(...words)).toBe(0)
  })
})

describe("a revision of git", () => {
  const git = (...args: string[]): void => void execFileSync("git", args, { cwd: at("repo"), stdio: "ignore" })
  const before = process.cwd()
  afterEach(() => process.chdir(before))

  it.each([
    ["linked folder", () => symlinkSync("../shared", at("repo/policies/more")), 5],
    ["linked file", () => symlinkSync("../shared/p.yaml", at("repo/policies/more.yaml")), 5],
    ["link out of the repository", () => symlinkSync("../../good", at("repo/policies/more")), 4],
    ["link to itself", () => symlinkSync(".", at("repo/policies/more")), 0],
    ["file of another name", () => put("repo/policies/p.txt", DENY), 4],
    ["UTF-16 text", () => put("repo/policies/p.txt", Buffer.from(JSON.stringify(DENY), "utf16le")), 4],
    ["picture", () => put("repo/policies/p.png", Buffer.from("\x89PNG\r\n\x1a\n\0\0", "latin1")), 0],
  ] as const)("with a %s", async (_, write, code) => {
    rmSync(at("repo"), { recursive: true, force: true })
    put("repo/policies/good.yaml", GOOD)
    put("repo/shared/p.yaml", DENY)
    write()
    git("init", "-q")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "x")
    process.chdir(at("repo"))
    const words = ["diff", "--from", at("good"), "--to", "HEAD:policies", "--workloads", at("pods.yaml")]
    expect([await run(...words), out]).toEqual([code, expect.anything()])
    expect(out.includes("skipped: ")).toBe(code === 4)
  })
})

it("rejects a manifest in a revision that is not UTF-8", async () => {
  rmSync(at("repo"), { recursive: true, force: true })
  put("repo/p.yaml", Buffer.from(`\uFEFF${JSON.stringify(DENY)}`, "utf16le"))
  for (const args of [
    ["init", "-q"],
    ["add", "."],
    ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
  ])
    execFileSync("git", args, { cwd: at("repo"), stdio: "ignore" })
  const before = process.cwd()
  process.chdir(at("repo"))
  try {
    expect(await run("diff", "--from", at("good"), "--to", "HEAD:", "--workloads", at("pods.yaml"))).toBe(1)
    expect(err).toContain("`HEAD:p.yaml` is not in UTF-8")
  } finally {
    process.chdir(before)
  }
})

describe("tests", () => {
  const own = { ...TEST, documents: [DENY] }
  const NEVER = [{ name: "nobody writes", to: [{ operation: { methods: ["PUT"] } }] }]

  it.each(["a.test.yml", "a.test.json", "a.test.YAML", "other.yaml", "a_test.json"])("in %s run", async name => {
    put(`run-${name}/${name}`, own)
    expect(await run("test", at(`run-${name}`))).toBe(0)
    expect(out).toContain("1 passed, 0 failed")
  })

  it.each(["a.test.txt", "a.test.yaml.bak"])("in %s are skipped", async name => {
    put(`skip-${name}/${name}`, own)
    put(`skip-${name}/b.test.yaml`, own)
    expect(await run("test", at(`skip-${name}`))).toBe(4)
    expect(out).toContain("it holds a `PolicyTest`")
  })

  it.each([
    ["no workloads", { ...own, cases: undefined, never: NEVER, workloads: {} }],
    ["no workloads beside one that has some", [own, { ...own, cases: undefined, never: NEVER, workloads: {} }]],
    ["no policies", { ...TEST, policies: ["../no-policies"], cases: [{ request: {}, expect: "allow" }] }],
  ])("with %s prove nothing", async (name, value) => {
    mkdirSync(at("no-policies"), { recursive: true })
    put(`${name}/a.test.yaml`, value)
    expect(await run("test", at(name))).toBe(4)
  })
})
