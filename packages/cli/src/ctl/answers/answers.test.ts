// SPDX-License-Identifier: Apache-2.0
// The commands that ask questions about policies, run on files. Goldens: `UPDATE_GOLDENS=1` rewrites them.

import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { typed } from "../testing/typed.js"

// The first use of a command loads it, which is slow on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const GOLDENS = join(import.meta.dirname, "testing", "goldens")
let folder = ""
let out = ""
let err = ""

const ALLOW = `apiVersion: security.merlon.dev/v1alpha3
kind: AuthorizationPolicy
metadata: { name: readers, namespace: foo }
spec:
  rules:
  - from: [{ source: { principals: [cluster.local/ns/app/sa/consumer] } }]
    to: [{ operation: { methods: [GET], paths: [/public/*] } }]
`
const TOKENS = `---
apiVersion: security.merlon.dev/v1alpha3
kind: RequestAuthentication
metadata: { name: jwt, namespace: foo }
spec: { jwtRules: [{ issuer: https://issuer.example, jwksUri: https://issuer.example/keys }] }
`
const ADMIN = `  - from: [{ source: { requestPrincipals: [https://issuer.example/*] } }]
    to: [{ operation: { methods: [GET], paths: [/admin/*] } }]
`
const DEAD = `  - from: [{ source: { principals: [cluster.local/ns/app/sa/consumer] } }]
    to: [{ operation: { methods: [GET], paths: [/public/news] } }]
`
const STRICT = `---
apiVersion: security.merlon.dev/v1alpha3
kind: PeerAuthentication
metadata: { name: strict, namespace: foo }
spec: { mtls: { mode: STRICT } }
`
const INVARIANT = `---
apiVersion: security.merlon.dev/v1alpha3
kind: PolicyInvariant
metadata: { name: admin, namespace: foo }
spec:
  never:
  - name: only ops reaches /admin
    from: [{ source: { notNamespaces: [ops] } }]
    to: [{ operation: { paths: [/admin/*] } }]
`
const OTHER = `---
apiVersion: v1
kind: ConfigMap
metadata: { name: settings, namespace: foo }
`
const WORKLOADS = `apiVersion: apps/v1
kind: Deployment
metadata: { name: httpbin, namespace: foo }
spec:
  selector: { matchLabels: { app: httpbin } }
  template:
    metadata: { labels: { app: httpbin } }
    spec: { serviceAccountName: httpbin, containers: [{ name: app, ports: [{ containerPort: 8080 }] }] }
---
apiVersion: v1
kind: Pod
metadata: { name: consumer-1, namespace: app, labels: { app: consumer } }
spec: { serviceAccountName: consumer, containers: [{ name: app }] }
---
apiVersion: v1
kind: Service
metadata: { name: httpbin, namespace: foo }
spec: { selector: { app: httpbin }, ports: [{ port: 8000, targetPort: 8080 }] }
`

const CALL = {
  caller: "spiffe://cluster.local/ns/app/sa/consumer",
  workload: "foo/httpbin",
  port: 8080,
  protocol: "http",
  method: "GET",
  path: "/public/{*}",
  tls: true,
  verdict: "allow",
  stage: "allow",
  firstSeen: "2026-01-01T00:00:00Z",
  lastSeen: "2026-01-02T00:00:00Z",
  count: 7,
}

const at = (name: string): string => join(folder, name)

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-answers-"))
  const file = (name: string, text: string): void => writeFileSync(at(name), text)
  for (const name of ["old", "new", "same", "bad", "empty", "closed"]) mkdirSync(at(name))
  file("old/policies.yaml", ALLOW + TOKENS + OTHER)
  file("new/policies.yaml", ALLOW + ADMIN + TOKENS + STRICT)
  file("same/tokens.yaml", TOKENS)
  file("closed/policy.yaml", ALLOW.replace("spec:", "spec:\n  action: DENY"))
  file("same/policies.yaml", ALLOW)
  file("bad/policy.yaml", ALLOW.replace("rules:", "rulez:"))
  file("invariant.yaml", ALLOW + ADMIN + TOKENS + INVARIANT)
  file("kept.yaml", ALLOW + TOKENS + INVARIANT)
  file("tokens.yaml", TOKENS)
  file("dead.yaml", ALLOW + DEAD)
  file("workloads.yaml", WORKLOADS)
  file("calls.json", JSON.stringify({ items: [CALL] }))
  file("wide.json", JSON.stringify([{ ...CALL, path: "/{**}" }]))
  file("wrong.json", JSON.stringify([{ ...CALL, count: 0 }]))
})
afterAll(() => rmSync(folder, { recursive: true }))

async function run(...args: string[]): Promise<number> {
  let code = 0
  ;({ code, out, err } = await typed(args))
  return code
}

const diff = (from: string, to: string, ...more: string[]): Promise<number> =>
  run("diff", "--from", at(from), "--to", at(to), "--workloads", at("workloads.yaml"), ...more)

/** Compares the output with the golden file of that name. */
function golden(name: string): void {
  const path = join(GOLDENS, `${name}.golden`)
  if (process.env.UPDATE_GOLDENS === "1") {
    mkdirSync(GOLDENS, { recursive: true })
    writeFileSync(path, out)
  }
  expect(out).toBe(existsSync(path) ? readFileSync(path, "utf8") : "")
}

describe("diff", () => {
  it.each(["text", "json", "md"])("reports changes as %s, and exits with 5", async format => {
    expect(await diff("old", "new", "-o", format)).toBe(5)
    golden(`diff.${format}`)
  })

  it("proves that nothing changes, whichever files hold the policies, and exits with 0", async () => {
    expect(await diff("old", "same", "-o", "json")).toBe(0)
    expect(JSON.parse(out)).toEqual({
      ...{ result: "equal", changes: [], undecided: [], invariants: [] },
      read: { policies: 2, workloads: 2, skipped: [] },
    })
    expect(err).toMatch(/note: .*ConfigMap settings is ignored/)
  })

  it("counts the other documents of a large set in one line", async () => {
    mkdirSync(at("large"), { recursive: true })
    writeFileSync(
      join(at("large"), "all.yaml"),
      ALLOW + TOKENS + OTHER.repeat(5) + OTHER.replace("ConfigMap", "Secret"),
    )
    expect(await diff("old", "large")).toBe(0)
    expect(err).toMatch(/large: 6 documents are ignored, as they are not policies: 5 ConfigMap, 1 Secret\n/)
  })

  it("takes a folder without files as an empty set of policies", async () => {
    expect(await diff("empty", "same", "-o", "json")).toBe(5)
    expect(new Set(JSON.parse(out).changes.map(({ direction }: { direction: string }) => direction))).toContain("deny")
  })

  it("exits with 1 if a policy cannot be read, and points at it", async () => {
    expect(await diff("old", "bad")).toBe(1)
    expect(err).toMatch(/policy\.yaml:5:3: .*rulez/)
    expect(await diff("old", "nowhere")).toBe(1)
  })

  it("exits with 4 if it is not decided in time", async () => {
    expect(await diff("old", "new", "-o", "json", "--budget", "1ms", "--fail-on", "narrow")).not.toBe(1)
  })

  it("exits with 5 only for what --fail-on names", async () => {
    expect(await diff("old", "new", "--fail-on", "widen")).toBe(5)
    expect(await diff("old", "new", "--fail-on", "narrow")).toBe(0)
    expect(await diff("new", "old", "--fail-on", "narrow")).toBe(5)
  })

  it("compares revisions of git", async () => {
    const git = (...args: string[]) => execFileSync("git", args, { cwd: folder, stdio: "ignore" })
    git("init", "-q")
    git("add", "old")
    git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "x")
    const before = process.cwd()
    process.chdir(folder)
    try {
      expect(await run("diff", "--from", "HEAD:old", "--to", "same", "--workloads", "workloads.yaml")).toBe(0)
      expect(await run("diff", "--from", "HEAD:none", "--to", "same", "--workloads", "workloads.yaml")).toBe(1)
    } finally {
      process.chdir(before)
    }
  })

  it("reports which invariants break, and exits with 5", async () => {
    expect(await diff("kept.yaml", "invariant.yaml")).toBe(5)
    golden("diff-invariants.text")
  })

  it("reports new invariants that are already broken, and not old ones", async () => {
    const set = (name: string, invariant: string) => {
      mkdirSync(at(name), { recursive: true })
      writeFileSync(join(at(name), "all.yaml"), ALLOW + ADMIN + TOKENS + invariant)
      return name
    }
    const [none, old, young] = [set("i0", ""), set("i1", INVARIANT.replace("ops", "app")), set("i2", INVARIANT)]
    expect(await diff(none, young)).toBe(5)
    expect(out).toContain("broken: `never: only ops reaches /admin`")
    expect(await diff(old, young)).toBe(5)
    expect(await diff(young, young)).toBe(0)
    expect(await diff("kept.yaml", "kept.yaml")).toBe(0)
  })
})

describe("analyze", () => {
  it.each<readonly [string, readonly string[], number, string]>([
    ["that is broken", ["--workloads", "workloads.yaml"], 5, "error: PolicyInvariant foo/admin spec.never[0]: `never"],
    ["at a lower severity too", ["--workloads", "workloads.yaml", "--fail-on", "error"], 5, "[broken-invariant]"],
    ["about no workload that was read", ["--fail-on", "error"], 4, "no workload that it is about was read"],
  ])("finds an invariant %s", async (_, more, code, words) => {
    const flags = more.map(one => (one.endsWith(".yaml") ? at(one) : one))
    expect(await run("analyze", "-f", at("invariant.yaml"), ...flags), out).toBe(code)
    expect(out).toContain(words)
  })

  it.each(["text", "json", "sarif", "github"])("reports rules without effect as %s, and exits with 5", async format => {
    const before = process.cwd()
    process.chdir(folder)
    try {
      expect(await run("analyze", "-f", "dead.yaml", "--workloads", "workloads.yaml", "-o", format)).toBe(5)
    } finally {
      process.chdir(before)
    }
    golden(`analyze.${format}`)
  })

  it("reports an ALLOW, but not a DENY, of what the mTLS mode already blocks", async () => {
    const severities = async (action: string): Promise<readonly string[]> => {
      const rule = "rules: [{ from: [{ source: { notPrincipals: ['*'] } }] }]"
      const head = "apiVersion: security.merlon.dev/v1alpha3\nkind: AuthorizationPolicy"
      const spec = `metadata: { name: plain, namespace: foo }\nspec:\n  action: ${action}\n  ${rule}\n`
      writeFileSync(at("plain.yaml"), `${head}\n${spec}${STRICT}`)
      await run("analyze", "-f", at("plain.yaml"), "--workloads", at("workloads.yaml"), "-o", "json")
      const { findings }: { findings: { code: string; severity: string }[] } = JSON.parse(out)
      return findings.filter(({ code }) => code === "dead-rule").map(({ severity }) => severity)
    }
    expect(await severities("DENY")).toEqual(["warning"])
    expect(await severities("ALLOW")).toEqual(["error"])
  })

  it("exits with 0 without findings, or without findings that --fail-on names", async () => {
    expect(await run("analyze", "-f", at("old"), "-f", at("tokens.yaml"), "--workloads", at("workloads.yaml"))).toBe(0)
    expect(await run("analyze", "-f", at("dead.yaml"), "--workloads", at("workloads.yaml"), "--fail-on", "error")).toBe(
      0,
    )
  })
})

describe("who-can", () => {
  it.each(["text", "json"])("lists callers as %s", async format => {
    expect(await run("who-can", "foo/httpbin", "-f", at("new"), "-f", at("workloads.yaml"), "-o", format)).toBe(0)
    golden(`who-can.${format}`)
  })

  it("reports that no caller can, and asks for an existing workload", async () => {
    const asked = ["-f", at("new"), "-f", at("workloads.yaml")]
    expect(await run("who-can", "httpbin", ...asked, "--method", "DELETE")).toBe(0)
    expect(out).toBe("no caller can (proved)\nread: 3 policies, 2 workloads\n")
    expect(await run("who-can", "htpbin", ...asked)).toBe(1)
    expect(err).toMatch(/there are foo\/httpbin, app\/consumer-1/)
  })
})

describe("what-can", () => {
  it.each(["text", "json"])("lists reachable workloads as %s", async format => {
    expect(await run("what-can", "ns/app/sa/consumer", "-f", at("new"), "-f", at("workloads.yaml"), "-o", format)).toBe(
      0,
    )
    golden(`what-can.${format}`)
  })

  it("rejects an invalid identity", async () => {
    expect(await run("what-can", "consumer", "-f", at("new"))).toBe(2)
  })
})

describe("suggest", () => {
  const suggest = (calls: string, ...more: string[]): Promise<number> =>
    run("suggest", "--calls", at(calls), "-f", at("same"), "--workloads", at("workloads.yaml"), ...more)

  it("writes a policy with its evidence and proofs", async () => {
    expect(await suggest("calls.json", "-o", "json")).toBe(0)
    golden("suggest.json")
    expect(await suggest("calls.json")).toBe(0)
    out = out.replace(/\d+ days ago/, "N days ago")
    golden("suggest.yaml")
  })

  it("leaves out suggestions that allow more than the current policies, and reports them", async () => {
    expect(await suggest("wide.json")).toBe(5)
    expect(err).toContain("nothing is suggested for foo/httpbin: it would newly allow")
  })

  it("reports errors in recorded calls", async () => {
    expect(await suggest("wrong.json")).toBe(1)
    expect(err).toContain("calls[0].count: must be a whole number")
  })

  it("reports that there are no recorded calls", async () => {
    expect(await suggest("calls.json", "app/consumer-1")).toBe(1)
    expect(err).toContain("no allowed calls observed")
  })
})

const POD = (name: string, version = "1"): string => `---
apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  namespace: foo
  labels: { app: httpbin, version: "${version}", pod-template-hash: ${name} }
  ownerReferences: [{ apiVersion: apps/v1, kind: ReplicaSet, name: httpbin-${name}, uid: u }]
spec: { serviceAccountName: httpbin, containers: [{ name: app, ports: [{ containerPort: 8080 }] }] }
`

describe("Pods that one Deployment runs", () => {
  const named = (file: string, word: string, ...more: string[]): Promise<number> =>
    run(...["who-can", word, "-f", at("same"), "-f", at(file), "-o", "json", ...more])

  it("are selected by its name and by that of their Service, if policies treat them alike", async () => {
    const service = WORKLOADS.slice(WORKLOADS.lastIndexOf("---")).replace("name: httpbin,", "name: bin,")
    writeFileSync(at("pods.yaml"), POD("abc12") + POD("def34") + service)
    for (const word of ["foo/httpbin", "httpbin", "foo/bin", "foo/abc12"]) {
      expect(await named("pods.yaml", word)).toBe(0)
      expect(JSON.parse(out).ways[0].workload).toBe("foo/abc12")
    }
    expect(await run("explain", "foo/bin", "-f", at("same"), "-f", at("pods.yaml"), "--path", "/x")).toBe(5)
    writeFileSync(at("versions.yaml"), POD("abc12") + POD("def34", "2"))
    expect(await named("versions.yaml", "httpbin")).toBe(1)
    expect(err).toContain("`httpbin` may be foo/abc12, foo/def34; write which")
  })

  it("are recorded as one workload, and get one policy", async () => {
    writeFileSync(at("pods.yaml"), POD("abc12") + POD("def34"))
    const suggested = ["suggest", "--calls", at("calls.json"), "-f", at("same"), "--workloads", at("pods.yaml")]
    expect(await run(...suggested, "-o", "json")).toBe(0)
    const { suggestions } = JSON.parse(out)
    expect(suggestions).toMatchObject([
      {
        workload: "foo/httpbin",
        policy: { metadata: { name: "httpbin-observed" }, spec: { selector: { matchLabels: { app: "httpbin" } } } },
        alsoSelects: [],
      },
    ])
    const changes = ["diff", "--from", at("same"), "--to", at("invariant.yaml"), "--workloads", at("pods.yaml")]
    expect(await run(...changes, "--calls", at("calls.json"), "-o", "md")).toBe(5)
    expect(out).toContain("| | requests | until now | recorded calls |\n|---|---|---|---|\n")
    expect(
      await run("diff", "--from", at("same"), "--to", at("closed"), ...changes.slice(5), "--calls", at("calls.json")),
    ).toBe(5)
    expect(out).toContain("recorded calls affected: 7 of 1 shape")
  })
})

it("requires recorded calls if no mesh has any", async () => {
  expect(await run("suggest", "-f", at("same"))).toBe(2)
  expect(err).toContain("with `-f`, name the recorded calls with `--calls FILE`, or a log")
})

it("counts the recorded calls that a change affects", async () => {
  expect(await diff("same", "empty", "--calls", at("calls.json"))).toBe(5)
  expect(out).toContain("no recorded call is affected")
  expect(await diff("empty", "new", "--calls", at("wide.json"), "-o", "json")).toBe(5)
  const { changes } = JSON.parse(out)
  expect(changes.map(({ recorded }: { recorded: object }) => recorded)).toContainEqual({ shapes: 1, calls: 7 })
})

describe("with files alone", () => {
  const policies = ["-f", "new/policies.yaml", "-f", "workloads.yaml"]
  it.each([
    ["who-can", ["httpbin", "-n", "foo"], 0],
    ["what-can", ["app/consumer"], 0],
    ["analyze", [], 0],
    ["explain", ["httpbin", "-n", "foo", "--method", "GET", "--path", "/admin/x"], 5],
    ["explain", ["foo/httpbin", "--curl", "curl http://httpbin.foo:8000/admin/x"], 5],
    ["explain", ["foo/httpbin", "--from", "cluster.local/ns/app/sa/consumer", "--path", "/public/x"], 0],
  ] as const)("%s %j looks for no cluster", async (command, words, code) => {
    vi.stubEnv("KUBECONFIG", at("there-is-none"))
    const files = policies.map(word => (word === "-f" ? word : at(word)))
    expect({ code: await run(command, ...words, ...files), err }).toEqual({ code, err: "" })
    expect(out).not.toBe("")
    vi.unstubAllEnvs()
  })
})
